import assert from "node:assert/strict";
import { test } from "node:test";
import { HOME, joinValues, nextPage, queryText, safeHref, splitValues } from "console/core/url";

test("a query leaves out what is empty, and repeats the names of lists", () => {
  assert.equal(queryText({ a: 1, b: "", c: null, d: undefined, e: [2, "x y"] }), "?a=1&e=2&e=x+y");
  assert.equal(queryText({ a: 0, b: false }), "?a=0&b=false");
  assert.equal(queryText({}), "");
  assert.equal(queryText(), "");
});

test("values of filters go into one text and come back, whatever they have", () => {
  for (const values of [["DE"], ["a,b", "c"], ["100%", "%2C"], ["%252C", ","], ["ü", " "]])
    assert.deepEqual(splitValues(joinValues(values)), values);
  assert.equal(joinValues([]), null);
  assert.deepEqual(splitValues(""), []);
  assert.deepEqual(splitValues(undefined), []);
});

test("pages of the console may be the next page", () => {
  for (const path of [
    "/console/links",
    "/console/links/0190b5a2-7c1e-7d3f-8a4b-5c6d7e8f9a0b",
    "/console/overview?country=DE%2CFR&period=7d",
    "/console/conversions?status=pending",
  ])
    assert.equal(nextPage(path), path);
});

test("nothing else may be the next page", () => {
  for (const path of [
    ...["/console", "/console?a", "//evil.example", "//evil.example/", "///evil.example/console"],
    ...["/\\evil.example", "/\\evil.example/", "\\\\evil.example", "\\\\evil.example/"],
    ...["/console//evil.example", "/console/\\evil", "/console/links?a=\\", "/consoles", "console"],
    ...["/console@evil.example", "https://evil.example/console", "https:evil.example", "/api/tags"],
    ...["javascript:alert(1)//console", "javascript:alert(1)", "/consoleevil", "", null, undefined],
    ...["/console/../api/session", "/console/%2e%2e/api", "/console/%2e%2e//evil.example"],
    ...["/console/..//evil.example/", "/console/links#x", "/console/a b", "/\t/evil.example"],
    ...["/con\tsole", "\n/console", "/console/\x00", "/console/links\r\n", "/\n/evil.example"],
    ...[["/console"], 1],
  ])
    assert.equal(nextPage(path), HOME, String(path));
});

test("only addresses of the web become links", () => {
  for (const url of ["http://example.com/a?b#c", "HTTPS://example.com"])
    assert.equal(safeHref(url), url);
  for (const url of ["javascript:alert(1)", " JavaScript:x", "java\tscript:x", "data:,x", "x:"])
    assert.equal(safeHref(url), undefined, url);
});
