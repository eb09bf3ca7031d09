import assert from "node:assert/strict";
import { test } from "node:test";
import { MEANINGS, aliasesFrom, namesIn } from "console/conversions/parameter-aliases";

const NONE = { transaction_id: "", status: "", currency: "", occurred_at: "", consent: "" };
const NAMES = { click_id: "cid, subid", value: "payout", ...NONE };

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

test("words of a status are read as names are", () => {
  const words = { 1: "approved", hold: "pending", upsell: "count" };
  const fields = namesIn(words, MEANINGS);
  assert.equal(fields.count, "upsell");
  assert.deepEqual(aliasesFrom(fields, "status"), words);
  assert.throws(() => aliasesFrom({ ...fields, rejected: "hold" }, "status"), {
    message: "“hold” can stand for one status only.",
  });
});
