import assert from "node:assert/strict";
import { test } from "node:test";
import { invisibleIn, stripped } from "console/links/invisible";
import cases from "./invisible.json" with { type: "json" };

test("the console takes off and refuses what the service does", () => {
  for (const [text, expected] of cases.stripped) assert.equal(stripped(text), expected);
  for (const [url, expected] of cases.within) assert.equal(invisibleIn(url), expected);
});

test("a long run within a text takes no long time", () => {
  assert.equal(stripped(`a${" ".repeat(100_000)}b`).length, 100_002);
});
