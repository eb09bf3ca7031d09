import assert from "node:assert/strict";
import { test } from "node:test";
import { completedUrl, hostnameOf } from "console/links/typed-url";

for (const [typed, url, hostname] of [
  ["shop.example/offer", "https://shop.example/offer", "shop.example"],
  ["//shop.example", "https://shop.example", "shop.example"],
  [" shop.example:8080/x ", "https://shop.example:8080/x", "shop.example"],
  ["-i❤.ab--cd.example:/x", "https://-i❤.ab--cd.example:/x", "-i❤.ab--cd.example"],
  ["HTTP://Shop.example/", "HTTP://Shop.example/", "Shop.example"],
  ["https://go.acme.example/", "https://go.acme.example/", "go.acme.example"],
  ["http://me@a.example.:443/a@b?c#d", "http://me@a.example.:443/a@b?c#d", "a.example"],
  ["mailto:ada@shop.example", "mailto:ada@shop.example", "shop.example"],
  ["javascript:alert(1)", "javascript:alert(1)", "javascript:alert(1)"],
  ["localhost/x", "localhost/x", "localhost"],
  ["bücher.example?x", "https://bücher.example?x", "bücher.example"],
])
  test(`${JSON.stringify(typed)} is completed or stripped`, () => {
    assert.deepEqual([completedUrl(typed), hostnameOf(typed)], [url, hostname]);
  });
