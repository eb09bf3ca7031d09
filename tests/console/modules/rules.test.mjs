import assert from "node:assert/strict";
import { test } from "node:test";
import {
  KINDS,
  kindOf,
  placeText,
  rulesOf,
  sentRules,
  sharesOf,
  targetText,
} from "console/rules/words";

test("each kind has a name, and devices, systems and browsers a list of choices", () => {
  assert.ok(Object.values(KINDS).every(({ label }) => label));
  assert.deepEqual(
    Object.keys(KINDS).filter((name) => KINDS[name].choices),
    ["device", "os", "browser"],
  );
  assert.ok(!KINDS.device.choices.includes("unknown"));
  assert.equal(kindOf({ not: true, ip: ["192.0.2.0/24"] }), "ip");
});

test("shares are of active weights, and none of none", () => {
  const variants = [
    { name: "A", weight: "700", active: true },
    { name: "B", weight: 300, active: true },
    { name: "C", weight: 500, active: false },
  ];
  assert.deepEqual(sharesOf(variants), [0.7, 0.3, 0]);
  assert.equal(targetText({ destination_url: null, split: { variants } }), "A 70%, B 30%, C 0%");
  assert.equal(targetText({ destination_url: "https://a.example" }), "https://a.example");
  assert.deepEqual(sharesOf([{ weight: 0, active: true }]), [0]);
});

test("rules are sent without the keys of the page, and a destination only if it changed", () => {
  const link = {
    destination_url: "https://a.example",
    slug: "a",
    rules: [{ id: "1" }],
    split: null,
  };
  const fields = rulesOf(link);
  const { destination_url: _, ...sent } = fields;
  assert.deepEqual(sentRules(fields, link), sent);
  const changed = { ...fields, destination_url: "b.example", rules: [{ key: 0.5, name: "a" }] };
  assert.deepEqual(sentRules(changed, link), { ...changed, rules: [{ name: "a" }] });
});

test("the place of an error is named as the page numbers it", () => {
  assert.equal(placeText("rules[3].conditions[0].country[1]"), "Rule 4, condition 1, country");
  assert.equal(
    placeText("rules[0].split.variants[1].destination_url"),
    "Rule 1, split, variant 2, destination url",
  );
  assert.equal(placeText("split.variants[9].weight"), "Split, variant 10, weight");
  assert.equal(placeText("split"), "Split");
  assert.equal(placeText("rules"), "Rules");
});
