import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { TEXTS } from "console/links/fields";
import { readLinks, withoutRows } from "console/links/lines";

const A = "https://shop.example/a";
const B = "https://shop.example/b";

for (const text of [
  `${A},bf-a,Name A\n${B},,`,
  `${A};bf-a;Name A\n${B}`,
  `${A}\tbf-a\tName A\n${B}\t-\t`,
  `"${A}", "bf-a", "Name A"\r\n"${B}"\r\n`,
  "shop.example/a bf-a Name A\nshop.example/b",
])
  test(`${JSON.stringify(text)} is two links, of which the first has slug and name`, () => {
    assert.deepEqual(
      readLinks(text).rows.map(({ link, problem }) => [link, problem]),
      [
        [{ destination_url: A, slug: "bf-a", internal_name: "Name A" }, ""],
        [{ destination_url: B }, ""],
      ],
    );
  });

test("lines are numbered as they are seen, and bad ones say why", () => {
  const text =
    `\n${A},one\n\n"${B}",two,"Two\nlines"\nnothing,three\n${A},one\n${A},a b\n` +
    `${A},six,Six,seven\n${A}?ids=1,2,3\n`;
  assert.deepEqual(
    readLinks(text).rows.map(({ line, problem }) => [line, problem]),
    [
      [2, ""],
      [4, ""],
      [6, "the destination is no web address"],
      [7, "the slug is that of line 2"],
      [8, "the slug: 1 to 64 of A-Z a-z 0-9 _ -"],
      [9, "more than destination, slug and name: put what holds a separator in quotes"],
      [10, ""],
    ],
  );
});

for (const [text, problem] of [
  [
    `destination_url,slug\n${A},one,two`,
    "more cells than the header: put what holds a separator in quotes",
  ],
  [`URL;archived\n${A};WAHR`, "is archived: remove this line"],
  [`URL;archived\n${A};maybe`, "archived is neither true nor false"],
  [`URL;active\n${A};maybe`, "active is neither true nor false"],
  ["utm_source,destination_url\nmail,", "no destination"],
  ["Slug,Title\na,A", "no column is the destination, such as URL: found Slug, Title"],
  [
    "destination_url\nhttps://shop\u200b.example/",
    "the destination has an invisible character (U+200B)",
  ],
  [`URL,Title\n${A} b,A`, "the destination has a space in it"],
  [`URL\n${A}?${"b".repeat(2048)}`, "the destination has more than 2048 characters"],
  [`URL,Title\n${A},${"é".repeat(256)}`, "name: more than 255 characters"],
  [`destination_url,tags\n${A},${"t".repeat(191)}`, "a tag has more than 190 characters"],
])
  test(`a row that would become another link is held back: ${problem}`, () => {
    assert.deepEqual(
      readLinks(text).rows.map((row) => [row.line, row.problem]),
      [[2, problem]],
    );
  });

test("headings and words are those that people use", () => {
  const text =
    "sep=;\nTitle;Short link;Destination URL;Tags;Active;Domain;Clicks\n" +
    "\u200bOne;https://bit.ly/one\u200b;shop.example/a?b=1,2;\u200eWinter, Ski;nein;;7\n" +
    "Two;https://bücher.example/c/two;https://shop.example/b;;oui;;\n" +
    "Three;three;https://shop.example/c;;1;Bücher.example;\n";
  const { ignored, rows } = readLinks(text);
  assert.deepEqual(ignored, ["Clicks"]);
  const own = "xn--bcher-kva.example";
  assert.deepEqual(
    rows.map(({ line, link, domain, tags, problem }) => [
      ...[line, link.destination_url, link.slug, link.internal_name, link.active],
      ...[domain, tags, problem],
    ]),
    [
      [3, `${A}?b=1,2`, "one", "One", false, "", ["Winter", "Ski"], ""],
      [4, B, "two", "Two", true, own, [], ""],
      [5, "https://shop.example/c", "three", "Three", true, own, [], ""],
    ],
  );
});

test("the guide names the texts of a link among the headings", () => {
  const guide = readFileSync(new URL("../../../docs/console.md", import.meta.url), "utf-8");
  const [, headings] = /common ones:\s([^.]+)\./.exec(guide);
  for (const { label } of TEXTS) assert.ok(headings.split(/,\s+/).includes(label), label);
});

test("UTM columns are written into destinations that lack them", () => {
  const text =
    "destination_url,slug,utm_source,utm_campaign\n" +
    "https://shop.example/a?x={slug}#top,one,news letter,\n" +
    "https://shop.example/b?utm_source=kept,two,other,spring\n";
  const { ignored, rows } = readLinks(text);
  assert.deepEqual(ignored, []);
  assert.deepEqual(
    rows.map(({ link }) => link.destination_url),
    [
      "https://shop.example/a?x={slug}&utm_source=news%20letter#top",
      "https://shop.example/b?utm_source=kept&utm_campaign=spring",
    ],
  );
});

test("columns are guessed from headings, and chosen ones are taken from others", () => {
  const text = `Title;Link;URL;Campaign\nA;x;${A};may\n`;
  const read = (mapped) => readLinks(text, "", mapped);
  assert.deepEqual(
    read().columns.map(({ heading, name }) => [heading, name]),
    [
      ["Title", "internal_name"],
      ["Link", null],
      ["URL", "destination_url"],
      ["Campaign", "utm_campaign"],
    ],
  );
  assert.equal(read().rows[0].link.destination_url, `${A}?utm_campaign=may`);
  const mapped = read({ 1: "slug", 0: "", 3: "internal_name" });
  assert.deepEqual(mapped.rows[0].link, { destination_url: A, slug: "x", internal_name: "may" });
  assert.deepEqual(mapped.ignored, ["Title"]);
  const other = read({ 1: "destination_url" });
  assert.deepEqual(
    other.columns.map(({ name }) => name),
    ["internal_name", "destination_url", null, "utm_campaign"],
  );
});

test("columns without headings can be chosen, and unknown headings are no link", () => {
  const plain = readLinks(`A;${A}\nB;${B}\n`, ";", { 0: "internal_name", 1: "destination_url" });
  assert.deepEqual(
    plain.rows.map(({ line, link }) => [line, link.internal_name, link.destination_url]),
    [
      [1, "A", A],
      [2, "B", B],
    ],
  );
  assert.equal(plain.columns[0].heading, "Column 1");
  const unknown = readLinks(`Nr;Ziel\n1;${A}\n`, ";", { 1: "destination_url" });
  assert.deepEqual(
    unknown.rows.map(({ line, link }) => [line, link.destination_url]),
    [[2, A]],
  );
});

test("created rows are taken out of the text, and the headings stay", () => {
  const text = `URL;Name\n\n${A};"One\ntwo"\n${B};B\n${A};C\n`;
  const { rows } = readLinks(text);
  assert.equal(withoutRows(text, rows, 1), `URL;Name\n\n${B};B\n${A};C\n`);
  assert.equal(withoutRows(text, rows, 2), `URL;Name\n\n${A};C\n`);
  assert.equal(withoutRows(text, rows, 3), `URL;Name\n`);
});
