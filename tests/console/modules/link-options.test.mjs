import assert from "node:assert/strict";
import { test } from "node:test";
import { session } from "console/core/session";
import { readLinks } from "console/links/lines";
import { OPTIONS, newOptions, optionsOf, sentOptions, usedOptions } from "console/links/options";

session.value = { account: { time_zone: "Europe/Berlin" } };

const UNUSED = Object.fromEntries(OPTIONS.map(({ name, unused }) => [name, unused]));
const LINK = {
  starts_at: "2026-01-31T08:30:00.000Z",
  expires_at: null,
  max_clicks: 1000,
  cost_per_click: 0.05,
  expired_url: "https://a.example/over",
  redirect_status: 307,
  click_parameter: "subid",
  pass_query: false,
  no_referrer: true,
  paths: ["summer/sale", "b"],
};

test("a form shows the options of a link, and what is not changed is sent as it was", () => {
  const fields = optionsOf(LINK);
  assert.equal(fields.starts_at, "2026-01-31T09:30");
  assert.equal(fields.redirect_status, "307");
  assert.equal(fields.expires_at, "");
  assert.equal(fields.paths, "summer/sale\nb");
  assert.deepEqual(sentOptions(fields), LINK);
  assert.deepEqual(sentOptions(optionsOf({})), UNUSED);
});

test("an option that is emptied is sent as unused, and other fields stay as they are", () => {
  const sent = sentOptions({ click_parameter: " ", expires_at: "", slug: "" });
  assert.deepEqual(sent, { click_parameter: "click_id", expires_at: null, slug: "" });
});

test("a new link is sent without the options that it does not use", () => {
  const fields = { ...optionsOf({}), no_referrer: true, slug: "a" };
  assert.deepEqual(newOptions(fields), { no_referrer: true, slug: "a" });
});

test("a number that is none is sent as it was typed, so that it is refused", () => {
  assert.equal(sentOptions({ max_clicks: "1,000" }).max_clicks, "1,000");
  assert.equal(sentOptions({ max_clicks: " 50 " }).max_clicks, 50);
});

test("a page names the options that a link uses", () => {
  assert.deepEqual(usedOptions(UNUSED), []);
  const used = Object.fromEntries(usedOptions({ ...LINK, clicks_left: 7 }));
  assert.equal(used["Cost of a click"], "0.05");
  assert.equal(used["Most clicks"], "1,000, 7 left");
  assert.equal(used["Before and after"], "https://a.example/over");
  assert.equal(used["Pass on the visitor’s parameters"], "no");
  assert.ok(!("Ends" in used));
});

test("a file gives links the options that the download writes", () => {
  const [read, other] = readLinks(
    "destination_url,starts_at,max_clicks,cost_per_click,redirect_status,pass_query,click_parameter,expired_url,paths\n" +
      'a.example,2026-01-31T08:30:00.000Z,1000,0.05,307,FALSCH,subid,,"[""a/b"",""2024""]"\n' +
      "a.example,,,,,,,,2024\n",
  ).rows;
  assert.deepEqual(other.link.paths, ["2024"]);
  assert.deepEqual(read.link, {
    destination_url: "https://a.example",
    starts_at: "2026-01-31T08:30:00.000Z",
    max_clicks: 1000,
    cost_per_click: 0.05,
    redirect_status: 307,
    pass_query: false,
    click_parameter: "subid",
    paths: ["a/b", "2024"],
  });
});
