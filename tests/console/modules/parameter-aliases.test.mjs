import assert from "node:assert/strict";
import { test } from "node:test";
import { aliasesFrom, namesIn } from "console/conversions/parameter-aliases";

const NAMES = { click_id: "cid, subid", transaction_id: "", value: "payout" };

test("names in fields are aliases, and back", () => {
  const aliases = { cid: "click_id", subid: "click_id", payout: "value" };
  assert.deepEqual(aliasesFrom(NAMES), aliases);
  assert.deepEqual(namesIn(aliases), NAMES);
});

test("a name can stand for one parameter only", () => {
  assert.throws(() => aliasesFrom({ ...NAMES, value: "payout, cid" }), {
    message: "“cid” can stand for one parameter only.",
  });
});
