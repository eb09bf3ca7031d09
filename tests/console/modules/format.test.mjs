import assert from "node:assert/strict";
import { test } from "node:test";
import { format, writeTimesIn } from "console/core/format";

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

test("times are written in one zone, which exact ones name", () => {
  for (const [zone, date, time, clock, exact] of [
    ["Asia/Kolkata", "Nov 29, 2026", "Nov 29, 2026, 12:30 AM", "12:30:05 AM", /, Asia\/Kolkata$/],
    ["America/Lima", "Nov 28, 2026", "Nov 28, 2026, 2:00 PM", "2:00:05 PM", /, America\/Lima$/],
    ["Factory", "Nov 28, 2026", "Nov 28, 2026, 7:00 PM", "7:00:05 PM", /UTC$/],
  ]) {
    writeTimesIn(zone);
    const at = "2026-11-28T19:00:05Z";
    assert.equal(format.date(at), date);
    assert.equal(format.time(at).replace("\u202f", " "), time);
    assert.equal(format.clock(at).replace("\u202f", " "), clock);
    assert.match(format.exact(at), exact);
  }
  writeTimesIn(undefined);
});
