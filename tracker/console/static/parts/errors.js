/**
 * What the API's errors are called in the console: plain words, and what to do.
 *
 * It is loaded with the first error. An error without an entry keeps the API's own text, which
 * names the field and the rule.
 */

import { placeText } from "console/rules/words";

const WRONG_CODE =
  "That code is not right, or was used already. Enter the one that your authenticator shows now.";
const BUSY_REPORTS = "Too many reports are being read.";
const WRONG_FILTER =
  "A filter in this address has a value that does not exist. Remove it and choose again.";
const NOTHING_HERE = "There is nothing at this address. Check it, or go back to the list.";
const noReport = (rule) => `This report cannot be read: ${rule}.`;
const firstActivate = (noun) => `This ${noun} is paused. Activate it first.`;

/**
 * The words for errors by code and field: "" for errors that name no field, "*" for any other
 * field. Of `filters.country` only `filters` counts. Functions get the API's rule and the field.
 */
const WORDS = {
  missing_scope: {
    role: "You cannot give or take a role above your own. Ask an owner.",
    account: "Your access has changed in the meantime. Load the page again.",
    "*": "Your role does not allow this. Ask an owner of the account.",
  },
  limited: { "*": "You see only links with some tags, so this page is not for you." },
  forbidden: {
    account: "You are no longer a member of any account. Ask an owner for a link.",
    member:
      "They belong to other accounts too. Only whoever runs the service can reset this password.",
    session: (rule) => `The address of this page is not the console's: sessions are ${rule}.`,
  },
  unauthorized: {
    "e-mail or password": "That e-mail or password is not right. Check both and try again.",
    session: "Your session has ended. Sign in again.",
  },
  code_required: { "*": WRONG_CODE },
  password_required: {
    "*": "That password is not right. Check it, or ask whoever sent you the link.",
  },
  rate_limited: {
    "rate limit": "Too many requests.",
    report: BUSY_REPORTS,
    "shared reports": BUSY_REPORTS,
    export: "Too many files are being written.",
    "sign-in": "Too many attempts. Check what you type.",
    share: "Too many attempts. Check what you type.",
  },
  unavailable: {
    report: BUSY_REPORTS,
    DNS: (rule) => `The DNS look-up failed: ${rule}.`,
    code: (rule) => `Codes ${rule}.`,
    password: "The service is busy.",
    export: "The service is restarting.",
    "": "The service is busy.",
  },
  time_limit: { "*": "This takes too long. Choose less, such as fewer days." },
  internal_error: {
    "*": "Something went wrong in the service. If it stays so, tell whoever runs it.",
  },
  not_found: {
    "": NOTHING_HERE,
    click_id: "There is no such click. One that was just made is stored after a moment.",
    "*": (_, field) => `There is no such ${NOUNS[field] ?? field}. It may have been deleted.`,
  },
  changed_meanwhile: {
    "*": "Somebody else has changed this meanwhile. Theirs is kept. Load the page again.",
  },
  already_taken: {
    name: "This name is taken already. Choose another; upper and lower case do not differ.",
  },
  bad_request: {
    id: NOTHING_HERE,
    event_id: NOTHING_HERE,
    page: "The list has no such page. Go back to its first.",
    filters: WRONG_FILTER,
    selectedTags: WRONG_FILTER,
    utm_source: WRONG_FILTER,
    utm_medium: WRONG_FILTER,
    utm_campaign: WRONG_FILTER,
    utm_term: WRONG_FILTER,
    utm_content: WRONG_FILTER,
    status: WRONG_FILTER,
    sort: "This list has no such order. Choose another.",
    from: (rule) => `The first day: ${rule}. Choose another.`,
    to: (rule) => `The last day: ${rule}. Choose another.`,
    dateRange: (rule) => `These days cannot be reported: ${rule}. Choose others.`,
    interval: (rule) => `Steps of this length: ${rule}. Choose longer steps, or fewer days.`,
    compare: noReport,
    dimension: noReport,
    panels: noReport,
    report: noReport,
    series: noReport,
    share: (rule) => `Shared reports: ${rule}.`,
    view: (rule) => `Views: ${rule}.`,
    password: (rule) => `Password: ${rule}.`,
    current_password: "That password is not right. Check it and try again.",
    code: WRONG_CODE,
    account_id: (rule) => `The account ${rule}. Delete or withdraw one first.`,
    totp: "Two-factor sign-in was changed elsewhere. Load the page again.",
    domain_name: (rule) => `Domain: ${rule}.`,
    headers: (rule, field) => `${field.replace("headers", "Header").replace(".", " ")}: ${rule}.`,
    "short link": "This link is paused, so its visitors get 404. Activate it first.",
    "event config": firstActivate("event configuration"),
    webhook: firstActivate("webhook"),
    role: "An account keeps its last owner. Make somebody else an owner first.",
    rules: (rule, field) => `${placeText(field)}: ${rule}.`,
    split: (rule, field) => `${placeText(field)}: ${rule}.`,
    add_tags: (rule) => `Tags: ${rule}. Remove one first.`,
  },
};

/** What is not found, by the fields that name it. */
const NOUNS = {
  tags: "tag",
  add_tags: "tag",
  remove_tags: "tag",
  domain_id: "domain",
  ids: "link",
  "event config": "event configuration",
};

/** Return the words for an error of the API; "" if it has none of its own. */
export function wordsFor({ code, field, rule }) {
  const ofCode = WORDS[code] ?? {};
  const words = ofCode[field.split(/[.[]/)[0]] ?? ofCode["*"] ?? "";
  return typeof words === "function" ? words(rule, field) : words;
}
