import assert from "node:assert/strict";
import { test } from "node:test";
import { separated } from "console/links/separators";

const A = "https://shop.example/a";
const isHeader = (cells) => cells.includes("URL");

for (const [text, separator, unsure] of [
  [`${A}?ids=1,2,3`, " ", ""],
  ["shop.example?ids=1,2,3\nshop.example/#a;b;c", " ", ""],
  [`${A},1`, " ", ","],
  [`${A},one\n${A},two`, " ", ","],
  [`${A},one\n${A},two,Two of them`, ",", ""],
  [`${A};one;One of them\nshop.example/b`, ";", ""],
  [`shop.example,one\nshop.example,two`, ",", ""],
  [`${A} one\n${A} two\n${A},three,Three`, " ", ","],
  [`${A}/@48.1,11.5,12z`, " ", ""],
  [`${A}/@48.1,11.5,12z munich In Munich, at night`, " ", ""],
  [`${A} one One, two\n${A} two Two, three`, " ", ""],
  [`${A}\tone`, "\t", ""],
  [`"${A}" , "one"`, ",", ""],
  [`URL,Name\n${A}`, ",", ""],
  [`Name;URL\n${A}`, ";", ""],
  [`URL\n${A}?ids=1,2,3`, "\t", ""],
  [`sep=;\n${A},one\n${A},two`, ";", ""],
  [`\ufeff"SEP=,"\r\n${A}?a=1,2`, ",", ""],
  ["", " ", ""],
])
  test(`the separator of ${JSON.stringify(text)} is ${JSON.stringify(separator)}`, () => {
    const found = separated(text, isHeader, "");
    assert.deepEqual([found.separator, found.unsure], [separator, unsure]);
  });

test("a separator that is chosen asks nothing and leaves the text", () => {
  assert.deepEqual(separated(`sep=;\n${A},1`, isHeader, ","), {
    text: `\n${A},1`,
    separator: ",",
    unsure: "",
  });
});

test("a URL with separators in its query stays whole between lines of fields", () => {
  const { text } = separated(`${A}?ids=1,2\r\n${A},one,One of them`, isHeader, "");
  assert.equal(text, `"${A}?ids=1,2"\r\n${A},one,One of them`);
});
