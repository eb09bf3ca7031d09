/** Arithmetic of days. A day is a text such as `2026-01-31`; a range of days is {from, to}. */

const DAY_MS = 86_400_000;

/** Return a time zone if the browser knows it, else UTC. */
export function knownZone(zone) {
  try {
    new Intl.DateTimeFormat(undefined, { timeZone: zone });
    return zone;
  } catch {
    return "UTC";
  }
}

/** Return the day that it is in a time zone. */
export function todayIn(zone) {
  return dayAt(Date.now(), knownZone(zone));
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
  const next = plusDays(day, 1);
  const midnight = Date.parse(next);
  const known = knownZone(zone);
  // By the offsets before and after: clocks may change on that day, and skip its midnight.
  const beginnings = [-DAY_MS, DAY_MS].map((away) => midnight - offsetAt(midnight + away, known));
  const beginning = Math.min(...beginnings.filter((moment) => dayAt(moment, known) >= next));
  return new Date(beginning - 1000);
}

/** Return a time as the clocks of a zone show it, such as `2026-01-31T09:30`. */
export function wallTime(time, zone) {
  const moment = new Date(time).getTime();
  return new Date(moment + offsetAt(moment, knownZone(zone))).toISOString().slice(0, 16);
}

/**
 * Return the moment at which the clocks of a zone show a time, in ISO 8601: the first if they show
 * it twice. A time that they skip is as long after the skip began.
 */
export function momentOf(text, zone) {
  const shown = Date.parse(`${text}Z`);
  const known = knownZone(zone);
  const found = [-DAY_MS, DAY_MS].map((away) => shown - offsetAt(shown + away, known));
  const right = found.filter((moment) => wallTime(moment, known) === text.slice(0, 16));
  return new Date(right.length ? Math.min(...right) : found[0]).toISOString();
}

/** Return the day that it is in a time zone at a moment. */
function dayAt(moment, zone) {
  return new Date(moment + offsetAt(moment, zone)).toISOString().slice(0, 10);
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

/** The names of weekdays from Monday on: {short, long}. */
export const WEEKDAYS = Array.from({ length: 7 }, (_, index) => {
  const day = new Date(plusDays("2024-01-01", index));
  const name = (weekday) =>
    new Intl.DateTimeFormat(undefined, { weekday, timeZone: "UTC" }).format(day);
  return { short: name("short"), long: name("long") };
});
