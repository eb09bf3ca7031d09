import assert from "node:assert/strict";
import { test } from "node:test";
import { folded, missingTags } from "console/links/tag-names";
import cases from "./equal-tags.json" with { type: "json" };

test("tags are equal for the console where they are for the service", () => {
  for (const [one, other] of cases.equal) assert.equal(folded(one), folded(other), one);
  for (const [one, other] of cases.different) assert.notEqual(folded(one), folded(other), one);
});

test("a new tag of several lines is created once, in its first spelling", () => {
  const rows = [{ tags: ["Straße", "spring"] }, { tags: ["STRASSE", "Été"] }];
  assert.deepEqual(missingTags(rows, [{ name: "Spring" }]), ["Straße", "Été"]);
  assert.deepEqual(missingTags(rows, undefined), []);
});
