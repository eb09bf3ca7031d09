import assert from "node:assert/strict";
import { test } from "node:test";
import { wordsFor } from "console/parts/errors";

const CASES = [
  ["not_found", "tags", "not found", "There is no such tag. It may have been deleted."],
  [
    "not_found",
    "short link",
    "not found",
    "There is no such short link. It may have been deleted.",
  ],
  ["not_found", "", "no such file", "There is nothing at this address."],
  ["missing_scope", "", "your role lacks the scope keys:read", "Your role does not allow this."],
  ["limited", "account", "you see only links with some tags", "not for you."],
  ["missing_scope", "account", "your access has changed", "Load the page again."],
  ["forbidden", "session", "accepted only from pages of https://t.example", "https://t.example."],
  ["unauthorized", "e-mail or password", "wrong", "Check both and try again."],
  ["password_required", "password", "wrong", "ask whoever sent you the link."],
  ["rate_limited", "rate limit", "600 requests per minute", "Too many requests."],
  ["unavailable", "", "storage is unavailable; try again", "The service is busy."],
  ["unavailable", "DNS", "no answer", "The DNS look-up failed: no answer."],
  ["time_limit", "panels[1]", "not done after 30 seconds", "Choose less"],
  ["bad_request", "filters.country", "must be two letters", "A filter in this address"],
  ["bad_request", "headers.Host", "is set by HTTP", "Header Host: is set by HTTP."],
  ["bad_request", "account_id", "has 9 webhooks, which is the limit", "The account has 9 webhooks"],
  ["bad_request", "report", "at most 9 tests", "This report cannot be read: at most 9 tests."],
  ["bad_request", "short link", "is paused", "This link is paused, so its visitors get 404."],
  [
    "bad_request",
    "rules[3].conditions[0].os[1]",
    "must be one of",
    "Rule 4, condition 1, os: must",
  ],
  ["bad_request", "split.variants[0].weight", "must be positive", "Split, variant 1, weight: must"],
  ["bad_request", "destination_url", "must be a URL", ""],
  ["unknown_code", "slug", "too purple", ""],
];

test("an error has words by its code and its field, whatever the API's text is", () => {
  for (const [code, field, rule, words] of CASES) {
    const found = wordsFor({ code, field, rule });
    assert.ok(words ? found.includes(words) : found === "", `${code} ${field}: ${found}`);
  }
});
