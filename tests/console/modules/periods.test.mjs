import assert from "node:assert/strict";
import { test } from "node:test";
import { PERIODS, daysOf, daysOfSteps, intervalOfSteps, shifted } from "console/reports/periods";

/** A Thursday. */
const TODAY = "2026-11-26";

const DAYS = {
  today: ["2026-11-26", "2026-11-26"],
  yesterday: ["2026-11-25", "2026-11-25"],
  "7d": ["2026-11-20", "2026-11-26"],
  "28d": ["2026-10-30", "2026-11-26"],
  "90d": ["2026-08-29", "2026-11-26"],
  week: ["2026-11-23", "2026-11-26"],
  last_week: ["2026-11-16", "2026-11-22"],
  month: ["2026-11-01", "2026-11-26"],
  last_month: ["2026-10-01", "2026-10-31"],
  year: ["2026-01-01", "2026-11-26"],
  "365d": ["2025-11-27", "2026-11-26"],
};

test("every period has its days by the calendar", () => {
  assert.deepEqual(Object.keys(DAYS).sort(), Object.keys(PERIODS).sort());
  for (const [period, [from, to]] of Object.entries(DAYS))
    assert.deepEqual(daysOf(period, undefined, TODAY), { from, to }, period);
});

test("last days may end yesterday", () => {
  const days = daysOf("7d", "yesterday", TODAY);
  assert.deepEqual(days, { from: "2026-11-19", to: "2026-11-25" });
});

test("the month before January is December of the year before", () => {
  const days = daysOf("last_month", undefined, "2026-01-15");
  assert.deepEqual(days, { from: "2025-12-01", to: "2025-12-31" });
});

const range = (from, to) => ({ from, to });

for (const [name, days, direction, expected] of [
  ["days, as many", range("2026-11-20", "2026-11-26"), -1, range("2026-11-13", "2026-11-19")],
  ["a day, one", range("2026-11-26", "2026-11-26"), -1, range("2026-11-25", "2026-11-25")],
  ["a month, the month", range("2026-03-01", "2026-03-31"), -1, range("2026-02-01", "2026-02-28")],
  ["a month, the next", range("2024-01-01", "2024-01-31"), 1, range("2024-02-01", "2024-02-29")],
  ["this month, the last", range("2026-11-01", TODAY), -1, range("2026-10-01", "2026-10-31")],
  [
    "part of a month, days",
    range("2026-03-01", "2026-03-30"),
    -1,
    range("2026-01-30", "2026-02-28"),
  ],
])
  test(`the time beside ${name}`, () => {
    assert.deepEqual(shifted(days, direction, TODAY), expected);
  });

test("on the first of a month its only day is a day, not the month", () => {
  const days = shifted(range("2026-11-01", "2026-11-01"), -1, "2026-11-01");
  assert.deepEqual(days, range("2026-10-31", "2026-10-31"));
});

test("steps have the days that the report has of them", () => {
  const dateRange = range("2026-11-04", "2026-11-26");
  const of = (first, last, interval) => daysOfSteps(first, last, { interval, dateRange });
  assert.deepEqual(of("2026-11-02", "2026-11-02", "week"), range("2026-11-04", "2026-11-08"));
  assert.deepEqual(of("2026-11-09", "2026-11-23", "week"), range("2026-11-09", "2026-11-26"));
  assert.deepEqual(of("2026-11", "2026-11", "month"), dateRange);
  assert.deepEqual(of("2026-11-05", "2026-11-06", "day"), range("2026-11-05", "2026-11-06"));
  const [first, last] = ["2026-11-05T09:00+01:00", "2026-11-05T11:00+01:00"];
  assert.deepEqual(of(first, last, "hour"), range("2026-11-05", "2026-11-05"));
});

test("a single step is looked into by its parts", () => {
  const hour = "2026-11-05T09:00+01:00";
  assert.deepEqual(intervalOfSteps(hour, hour, "hour"), { interval: "hour" });
  assert.deepEqual(intervalOfSteps("2026-11", "2026-11", "month"), { interval: null });
  assert.deepEqual(intervalOfSteps("2026-11", "2026-11", undefined), {});
  assert.deepEqual(intervalOfSteps("2026-10", "2026-11", "month"), {});
});
