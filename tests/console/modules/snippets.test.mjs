import assert from "node:assert/strict";
import { test } from "node:test";
import { snippets } from "console/conversions/snippets";

for (const [aliases, query] of [
  [undefined, "pbk=k&click_id=CLICK_ID&value=VALUE&transaction_id=ORDER_ID"],
  [{ aff: "click_id", cid: "click_id" }, "pbk=k&aff=CLICK_ID&value=VALUE&transaction_id=ORDER_ID"],
])
  test(`parameters have the names of ${JSON.stringify(aliases)}`, () => {
    const [[, postback]] = snippets("https://t.example", { pbk: "k", parameter_aliases: aliases });
    assert.equal(postback, `https://t.example/api/event?${query}`);
  });
