/** Arithmetic of days. A day is a text such as `2026-01-31`; a range of days is {from, to}. */

const DAY_MS = 86_400_000;

/** Return the day that it is in a time zone. */
export function todayIn(zone) {
  const parts = { year: "numeric", month: "2-digit", day: "2-digit" };
  return new Intl.DateTimeFormat("en-CA", { timeZone: zone, ...parts }).format(new Date());
}

/** Return the day that is so many days after another. */
export function plusDays(day, count) {
  return new Date(Date.parse(day) + count * DAY_MS).toISOString().slice(0, 10);
}

/** Return the first day of the month `months` after the month of a day. */
export function firstOfMonth(day, months = 0) {
  const [year, month] = day.split("-").map(Number);
  return new Date(Date.UTC(year, month - 1 + months, 1)).toISOString().slice(0, 10);
}

/** Return the Monday of the week of a day. */
export function mondayOf(day) {
  return plusDays(day, -((new Date(day).getUTCDay() + 6) % 7));
}

/** Return whether a text is a day of the calendar, from the year 1000 on. */
export function isDay(text) {
  const isShaped = /^[1-9]\d{3}-\d\d-\d\d$/.test(text ?? "");
  return isShaped && !Number.isNaN(Date.parse(text)) && plusDays(text, 0) === text;
}

/** Return how many days a range has. */
export function countDays({ from, to }) {
  return (Date.parse(to) - Date.parse(from)) / DAY_MS + 1;
}

/** Return the range of the last days up to a day. */
export function lastDays(count, to) {
  return { from: plusDays(to, 1 - count), to };
}

/** Return the last second of a day in a time zone. */
export function endOfDay(day, zone) {
  const midnight = Date.parse(plusDays(day, 1));
  // The offset of the zone at about that moment, then at the moment itself: clocks may change.
  const first = midnight - offsetAt(midnight, zone);
  return new Date(midnight - offsetAt(first, zone) - 1000);
}

/** Return how far a time zone is ahead of UTC at a moment, in milliseconds. */
function offsetAt(moment, zone) {
  const parts = { dateStyle: "short", timeStyle: "medium", hourCycle: "h23" };
  // Swedish writes 2026-01-31 23:59:59.
  const local = new Intl.DateTimeFormat("sv-SE", { timeZone: zone, ...parts }).format(moment);
  return Date.parse(`${local.replace(" ", "T")}Z`) - moment;
}

/** Return the moment so many days from now, or before it if negative. */
export function daysFromNow(count) {
  return new Date(Date.now() + count * DAY_MS);
}
