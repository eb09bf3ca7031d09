import assert from "node:assert/strict";
import { test } from "node:test";
import {
  countDays,
  endOfDay,
  firstOfMonth,
  isDay,
  knownZone,
  lastDays,
  mondayOf,
  momentOf,
  plusDays,
  wallTime,
} from "console/core/dates";

test("days are counted over months, leap days and years", () => {
  assert.equal(plusDays("2024-02-28", 1), "2024-02-29");
  assert.equal(plusDays("2025-02-28", 1), "2025-03-01");
  assert.equal(plusDays("2026-01-01", -1), "2025-12-31");
  assert.equal(countDays({ from: "2025-12-31", to: "2026-01-01" }), 2);
  assert.equal(countDays({ from: "2024-01-01", to: "2024-12-31" }), 366);
});

test("a day is added where clocks change as elsewhere", () => {
  assert.equal(plusDays("2026-03-28", 2), "2026-03-30");
  assert.equal(plusDays("2026-10-24", 2), "2026-10-26");
});

test("the last days end with the day that is given", () => {
  assert.deepEqual(lastDays(1, "2026-03-01"), { from: "2026-03-01", to: "2026-03-01" });
  assert.deepEqual(lastDays(28, "2026-03-01"), { from: "2026-02-02", to: "2026-03-01" });
});

test("a month begins on its first day, however many months away", () => {
  assert.equal(firstOfMonth("2026-01-31"), "2026-01-01");
  assert.equal(firstOfMonth("2026-01-31", 1), "2026-02-01");
  assert.equal(firstOfMonth("2026-01-31", -1), "2025-12-01");
  assert.equal(firstOfMonth("2026-01-31", -13), "2024-12-01");
});

test("a week begins on its Monday", () => {
  assert.equal(mondayOf("2026-11-23"), "2026-11-23");
  assert.equal(mondayOf("2026-11-29"), "2026-11-23");
  assert.equal(mondayOf("2026-01-01"), "2025-12-29");
});

test("only days of the calendar are days", () => {
  for (const day of ["2026-01-31", "2024-02-29", "1000-01-01"]) assert.ok(isDay(day), day);
  const others = ["2025-02-29", "2026-13-01", "2026-1-1", "0026-01-01", "2026-01-31T00", "", null];
  for (const text of [...others, undefined]) assert.ok(!isDay(text), text);
});

test("a zone that the browser does not know is UTC", () => {
  assert.deepEqual(["Europe/Berlin", "Factory", undefined].map(knownZone), [
    "Europe/Berlin",
    "UTC",
    undefined,
  ]);
});

for (const [day, zone, end] of [
  ["2026-01-31", "UTC", "2026-01-31T23:59:59.000Z"],
  ["2026-01-31", "Europe/Berlin", "2026-01-31T22:59:59.000Z"],
  ["2026-03-29", "Europe/Berlin", "2026-03-29T21:59:59.000Z"],
  ["2026-10-25", "Europe/Berlin", "2026-10-25T22:59:59.000Z"],
  ["2026-12-31", "Pacific/Kiritimati", "2026-12-31T09:59:59.000Z"],
  ["2026-12-31", "Pacific/Pago_Pago", "2027-01-01T10:59:59.000Z"],
  ["2026-07-01", "Asia/Kolkata", "2026-07-01T18:29:59.000Z"],
  // Clocks skip the midnight after it.
  ["2026-09-05", "America/Santiago", "2026-09-06T03:59:59.000Z"],
  ["2026-03-07", "America/Havana", "2026-03-08T04:59:59.000Z"],
  ["2026-03-28", "Atlantic/Azores", "2026-03-29T00:59:59.000Z"],
  // They show it, or the hour before it, twice.
  ["2026-10-31", "America/Havana", "2026-11-01T03:59:59.000Z"],
  ["2026-04-04", "America/Santiago", "2026-04-05T03:59:59.000Z"],
  // The whole next day is skipped.
  ["2011-12-29", "Pacific/Apia", "2011-12-30T09:59:59.000Z"],
  ["2026-01-31", "Factory", "2026-01-31T23:59:59.000Z"],
])
  test(`${day} ends in ${zone} at ${end}`, () => {
    assert.equal(endOfDay(day, zone).toISOString(), end);
  });

for (const [shown, zone, moment, again = shown] of [
  ["2026-01-31T09:30", "UTC", "2026-01-31T09:30:00.000Z"],
  ["2026-01-31T09:30", "Europe/Berlin", "2026-01-31T08:30:00.000Z"],
  ["2026-01-31T09:30", "Pacific/Kiritimati", "2026-01-30T19:30:00.000Z"],
  // Clocks show this hour twice, and skip that one.
  ["2026-10-25T02:30", "Europe/Berlin", "2026-10-25T00:30:00.000Z"],
  ["2026-03-29T02:30", "Europe/Berlin", "2026-03-29T01:30:00.000Z", "2026-03-29T03:30"],
])
  test(`clocks show ${shown} in ${zone} at ${moment}`, () => {
    assert.equal(momentOf(shown, zone), moment);
    assert.equal(wallTime(moment, zone), again);
  });
