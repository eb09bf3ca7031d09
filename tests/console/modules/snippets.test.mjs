import assert from "node:assert/strict";
import { test } from "node:test";
import { postbackUrl } from "console/conversions/snippets";

for (const [aliases, query] of [
  [undefined, "pbk=k&click_id=CLICK_ID&value=VALUE&transaction_id=ORDER_ID"],
  [{ aff: "click_id", cid: "click_id" }, "pbk=k&aff=CLICK_ID&value=VALUE&transaction_id=ORDER_ID"],
])
  test(`parameters have the names of ${JSON.stringify(aliases)}`, () => {
    const postback = postbackUrl("https://t.example", { pbk: "k", parameter_aliases: aliases });
    assert.equal(postback, `https://t.example/api/event?${query}`);
  });

test("a network's macros stand as it writes them, under the names of the configuration", () => {
  const config = { pbk: "k", parameter_aliases: { payout: "value" } };
  const macros = { click_id: "#s2#", value: "{sum}", transaction_id: undefined };
  const postback = postbackUrl("https://t.example", config, macros);
  assert.equal(postback, "https://t.example/api/event?pbk=k&click_id=#s2#&payout={sum}");
});
