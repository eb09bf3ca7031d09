import assert from "node:assert/strict";
import { test } from "node:test";
import { TEXTS, textFields, textsOf } from "console/links/fields";

TEXTS.splice(1, Infinity, { name: "notes", label: "Notes", most: 5 });

// What is imported from here on has read the table with its second row.
const { FormFields } = await import("console/core/fields");
const { readLinks } = await import("console/links/lines");
const { LinkPreview } = await import("console/links/preview");
const { Facts } = await import("console/pages/link");
const { columns } = await import("console/links/columns");

const LINK = { internal_name: "Spring", notes: "Mine", destination_url: "https://a.example/" };
const LISTED = {
  ...LINK,
  id: "1",
  short_url: "https://t.example/c/a",
  tags: [],
  rules: [],
  active: true,
};

/** Return the texts of an element, with those of its components that use no hooks. */
function textsIn(element) {
  if (Array.isArray(element)) return element.flatMap(textsIn);
  if (typeof element === "string") return [element.trim()];
  if (!element?.props) return [];
  return textsIn(
    element.type.name === "Row" ? element.type(element.props) : element.props.children,
  );
}

test("a second text of a link is a field of both forms, and no other has to be filled in", () => {
  for (const isNew of [true, false]) {
    const list = textFields(isNew);
    const shown = FormFields({ list, fields: textsOf(LINK), set: () => () => {} });
    assert.deepEqual(
      shown.map(({ props }) => [props.label, props.value, props.maxlength]),
      [
        ["Name", "Spring", 255],
        ["Notes", "Mine", 5],
      ],
    );
  }
  assert.equal(textFields(false)[1].required, undefined);
  assert.equal(textsOf({}).notes, "");
});

test("a second text of a link is on its page, and only if it has one", () => {
  const shown = textsIn(Facts({ link: LISTED }));
  assert.equal(shown[shown.indexOf("Notes") + 1], "Mine");
  assert.ok(!textsIn(Facts({ link: { ...LISTED, notes: "" } })).includes("Notes"));
});

test("a second text of a link is a column of the list, and only if a row has one", () => {
  const notes = (link) => columns([link]).find(({ label }) => label === "Notes");
  assert.equal(notes(LISTED).cell(LISTED), "Mine");
  assert.equal(notes({ ...LISTED, notes: "" }), undefined);
});

test("a second text of a link is read from pasted lines, checked and previewed", () => {
  const [good, bad] = readLinks("URL,Notes\na.example,Mine\na.example,Longer\n").rows;
  assert.equal(good.link.notes, "Mine");
  assert.equal(bad.problem, "notes: more than 5 characters");
  const shown = textsIn(
    LinkPreview({ rows: [good], most: 1, host: "t", newTags: [], ignored: [] }),
  );
  assert.ok(shown.includes("Notes") && shown.includes("Mine"));
});
