import assert from "node:assert/strict";
import { test } from "node:test";
import { format } from "console/core/format";
import {
  changeText,
  chartSteps,
  comparedText,
  daysText,
  figureOf,
  stepLine,
  zoneText,
} from "console/reports/words";

for (const [kind, now, was, text] of [
  ["number", 108, 100, "+8%"],
  ["number", 92, 100, "−8%"],
  ["number", 100, 100, "±0%"],
  ["number", 100_001, 100_000, "±0%"],
  ["number", 3, 0, "new"],
  ["number", 0, 3, "−100%"],
  ["number", 0, 0, "–"],
  ["money", -5, -10, "+50%"],
  ["percent", 0.024, 0.02, "+0.4 points"],
  ["percent", 0.02, 0.024, "−0.4 points"],
  ["percent", 0.03, 0.02, "+1 point"],
  ["percent", 0.02, 0, "+2 points"],
  ["percent", 0, 0.02, "−2 points"],
  ["percent", 0.0200001, 0.02, "±0 points"],
  // The rate of no clicks is none.
  ["percent", 0.02, null, "new"],
  ["percent", null, 0.02, "–"],
  ["percent", null, null, "–"],
])
  test(`${kind} ${now} after ${was} is ${text}`, () => {
    assert.equal(changeText(format[kind], now, was), text);
  });

const REPORT = {
  timeZone: "UTC",
  series: [
    { key: "2026-10-07", clicks: 4 },
    { key: "2026-10-08", clicks: 1 },
    { key: "2026-10-09", clicks: 0 },
  ],
  previousSeries: [
    { key: "2026-09-30", clicks: 8 },
    { key: "2026-10-01", clicks: 9 },
    { key: "2026-10-02", clicks: 7 },
  ],
  previousDateRange: { from: "2026-09-30", to: "2026-10-02" },
  unfinished: {
    step: "2026-10-08",
    until: "2026-10-08T04:14:00+00:00",
    previousUntil: "2026-10-01T04:14:00+00:00",
    previousStep: { clicks: 2 },
  },
};

test("an unfinished step is compared with the same part of the one before", (context) => {
  context.mock.timers.enable({ apis: ["Date"], now: Date.parse("2026-10-08T04:14:00Z") });
  const { steps } = chartSteps(REPORT, "clicks");
  assert.deepEqual(
    steps.map((step) => stepLine(format.number, step)),
    [
      "Wed, Oct 7: 4 (before, Wed, Sep 30: 8, −50%)",
      "Thu, Oct 8 (unfinished, until 04:14): 1 (before, Thu, Oct 1 until 04:14: 2, −50%)",
      "Fri, Oct 9: not yet (before, Fri, Oct 2: 7, –)",
    ],
  );
  assert.equal(comparedText(REPORT), "Compared with Wed, Sep 30 to Thu, Oct 1 until 04:14");
});

test("the zone of the days before a change is named, and the length of its day", () => {
  assert.equal(zoneText({ timeZone: "UTC" }), "UTC");
  const change = { day: "2020-01-11", hours: 23, previousTimeZone: "UTC" };
  const found = zoneText({ timeZone: "Europe/Berlin", timeZoneChanges: [change] });
  assert.match(found, /^Europe\/Berlin; before .*11.*, which has 23 hours, UTC$/);
});

test("days have a year if they are not all of this one", (context) => {
  context.mock.timers.enable({ apis: ["Date"], now: Date.parse("2026-03-10T12:00:00Z") });
  for (const [from, to, text] of [
    ["2025-03-11", "2026-03-10", "Tue, Mar 11, 2025 to Tue, Mar 10, 2026"],
    ["2026-03-04", "2026-03-10", "Wed, Mar 4 to Tue, Mar 10"],
    ["2024-12-30", "2024-12-30", "Mon, Dec 30, 2024"],
  ])
    assert.equal(daysText({ from, to }), text);
});

test("no clicks have no rate", () => {
  assert.equal(figureOf({ clicks: 0, conversionRate: 0 }, "conversionRate"), null);
  assert.equal(figureOf({ clicks: 0, value: "2.5" }, "value"), 2.5);
});
