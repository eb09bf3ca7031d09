/**
 * What the API's errors are called in the console: plain words, and what to do.
 *
 * It is loaded with the first error. An error without an entry keeps the API's own text, which
 * names the field and the rule.
 */

/**
 * The errors by their codes: the text of the API, and the words for it, for the first that fits.
 */
const WORDS = {
  missing_scope: [
    [
      /^role: \w+ has scopes that you lack/,
      () => "You cannot give or take a role above your own. Ask an owner.",
    ],
    [/lacks the scope (\w+):(\w+)/, ([, resource, verb]) => whoMay(resource, verb)],
    [
      /^account: your access has changed/,
      () => "Your access has changed in the meantime. Load the page again.",
    ],
  ],
  forbidden: [
    [
      /^account: you are no longer a member of any/,
      () => "You are no longer a member of any account. Ask an owner for a link.",
    ],
    [
      /^member: belongs to other accounts/,
      () =>
        "They belong to other accounts too. Only whoever runs the service can reset this password.",
    ],
    [
      /^session: accepted only from pages of (\S+),/,
      ([, url]) => `Open the console at ${url}, over https or on the machine of the service.`,
    ],
  ],
  unauthorized: [
    [
      /^e-mail or password: wrong/,
      () => "That e-mail or password is not right. Check both and try again.",
    ],
    [/^session: /, () => "Your session has ended. Sign in again."],
  ],
  code_required: [[/^code: wrong/, () => WRONG_CODE]],
  password_required: [
    [
      /^password: wrong/,
      () => "That password is not right. Check it, or ask whoever sent you the link.",
    ],
  ],
  rate_limited: [
    [/too many attempts/, () => "Too many attempts. Check what you type."],
    [/^rate limit: /, () => "Too many requests."],
    [/^(?:report|shared reports|share): /, () => "Too many reports are being read."],
    [/^export: /, () => "Too many files are being written."],
  ],
  unavailable: [
    [/^report: .* for reports are in use/, () => "Too many reports are being read."],
    [/^DNS: (.*); try again$/, ([, what]) => `The DNS look-up failed: ${what}.`],
    [/^export: the service is about to stop/, () => "The service is restarting."],
    [/(?:storage is|too many .*) .*try again$/, () => "The service is busy."],
  ],
  time_limit: [
    [/not done after/, () => "This report takes long. Choose fewer days, or go on counting."],
    [/^this took longer/, () => "This took too long. Choose less."],
  ],
  internal_error: [
    [/./, () => "Something went wrong in the service. If it stays so, tell whoever runs it."],
  ],
  not_found: [
    [
      /^share: expired/,
      () =>
        "This link opens no report: it has ended, was revoked, or is not complete. Ask whoever sent it for a new one.",
    ],
    [
      /^click_id: /,
      () => "There is no such click. One that was just made is stored after a moment.",
    ],
    [
      /^([\w -]+): not found/,
      ([, what]) => `There is no such ${NOUNS[what] ?? what}. It may have been deleted.`,
    ],
  ],
  already_taken: [
    [/^name: already taken/, () => "This name is taken already. Choose another."],
    [/^name: another tag/, () => "Another tag has this name. Upper and lower case do not differ."],
  ],
  bad_request: [
    [
      /^(?:event_)?id: /,
      () => "There is nothing at this address. Check it, or go back to the list.",
    ],
    [
      /: by hour at most (\d+) days/,
      ([, days]) =>
        `Steps of an hour are for at most ${days} days. Choose longer steps, or fewer days.`,
    ],
    [
      /^(?:report\.)?dateRange\.to: at most (\d+) days/,
      ([, days]) => `A report has at most ${days} days. Choose fewer.`,
    ],
    [/^page: /, () => "The list has no such page. Go back to its first."],
    [
      /^(?:filters\.\w+|selectedTags|utm_\w+|status)(?:\[\d+\])?: /,
      () => "A filter in this address has a value that does not exist. Remove it and choose again.",
    ],
    [/^sort: /, () => "This list has no such order. Choose another."],
    [
      /^(?:(?:report\.)?dateRange\.)?from: must not be after to/,
      () => "The first day is after the last. Choose an earlier one.",
    ],
    [
      /^(?:report\.)?(?:dateRange\.)?(?:from|to): must be a date/,
      () => "One of the days does not exist. Choose another.",
    ],
    [/^compare: there are no days/, () => "There are no days before these. Choose not to compare."],
    [
      /: at most ([\d,]+) tests/,
      ([, most]) => `A report has at most ${most} tests. Choose fewer days.`,
    ],
    [
      /these days have more (?:than [\d,]+ )?values/,
      () => "These days have too many different values. Choose fewer days.",
    ],
    [/^(?:current_)?password: wrong/, () => "That password is not right. Check it and try again."],
    [/^code: wrong/, () => WRONG_CODE],
    [
      /^share: an account has at most (\d+)/,
      ([, most]) => `An account has at most ${most} shared reports. Revoke one first.`,
    ],
    [
      /^view: an account has at most (\d+)/,
      ([, most]) => `An account has at most ${most} views. Delete one first.`,
    ],
    [
      /^account_id: has (\d+) webhooks/,
      ([, most]) => `An account has at most ${most} webhooks. Delete one first.`,
    ],
    [
      /^account_id: has (\d+) open invitations/,
      ([, most]) => `An account has at most ${most} open invitations. Withdraw one first.`,
    ],
    [
      /^totp: is (on|off) already/,
      ([, state]) => `Two-factor sign-in is ${state} already. Load the page again.`,
    ],
    [/^totp: /, () => "This was begun again elsewhere. Close it and begin again."],
    [/^headers\.([^:]+): (.*)/, ([, name, rule]) => `Header ${name}: ${rule}.`],
    [/^headers: (.*)/, ([, rule]) => `Own headers: ${rule}.`],
    [/^domain_name: (DNS .*)/, ([, what]) => `${what}. A new record may take a while to be seen.`],
    [
      /^short link: is paused/,
      () => "This link is paused, so its visitors get 404. Activate it first.",
    ],
    [/^event config: is paused/, () => "This event configuration is paused. Activate it first."],
    [/^webhook: is inactive/, () => "This webhook is paused. Activate it first."],
    [
      /^role: an account keeps its last owner/,
      () => "An account keeps its last owner. Make somebody else an owner first.",
    ],
    [/^domain_name: short links use it/, () => "Short links use this domain. Archive them first."],
    [
      /^add_tags: at most (\d+) tags/,
      ([, most]) => `A link has at most ${most} tags. Remove one first.`,
    ],
  ],
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

const WRONG_CODE =
  "That code is not right, or was used already. Enter the one that your authenticator shows now.";

/** What only owners may see, or change. */
const OF_OWNERS = { read: ["audit", "keys"], write: ["audit", "keys", "account", "members"] };

function whoMay(resource, verb) {
  const who = OF_OWNERS[verb].includes(resource) ? "owners" : "owners and editors";
  return `Only ${who} ${verb === "read" ? "see this" : "can do this"}. Ask one of them.`;
}

/** Return the words for an error of the API; "" if it has none of its own. */
export function wordsFor({ code, text }) {
  for (const [pattern, words] of WORDS[code] ?? []) {
    const match = pattern.exec(text);
    if (match) return words(match);
  }
  return "";
}
