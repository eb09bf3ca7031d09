import assert from "node:assert/strict";
import { test } from "node:test";
import { format } from "console/core/format";

test("numbers are written as their kind is", () => {
  assert.equal(format.number(1234567), "1,234,567");
  assert.equal(format.compact(12_345), "12.3K");
  assert.equal(format.percent(0.0333), "3.3%");
  assert.equal(format.money("12.5"), "12.50");
  assert.equal(format.money("0.000001"), "0.000001");
  assert.equal(format.money(null), "–");
  assert.equal(format.money(undefined), "–");
});

test("a count has its noun, one or several", () => {
  assert.equal(format.count(1, "link"), "1 link");
  assert.equal(format.count(0, "link"), "0 links");
  assert.equal(format.count(1_000, "delivery", "deliveries"), "1,000 deliveries");
});

test("times are told from now, and after a week by their date", (context) => {
  context.mock.timers.enable({ apis: ["Date"], now: Date.parse("2026-11-26T12:00:00Z") });
  for (const [time, text] of [
    ["2026-11-26T11:59:01Z", "just now"],
    ["2026-11-26T12:00:30Z", "just now"],
    ["2026-11-26T11:58:00Z", "2 minutes ago"],
    ["2026-11-26T09:00:01Z", "2 hours ago"],
    ["2026-11-25T12:00:00Z", "yesterday"],
    ["2026-11-28T12:00:00Z", "in 2 days"],
    ["2026-11-18T12:00:00Z", "Nov 18, 2026"],
  ])
    assert.equal(format.ago(time), text, time);
});
