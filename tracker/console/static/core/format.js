/** Numbers and times as text, in the reader's language and the account's time zone. */

import { knownZone } from "console/core/dates";

const NUMBER = new Intl.NumberFormat();

const COMPACT = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });

const PERCENT = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 1 });

const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });

const UNITS = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

let times = timesIn(undefined);

function timesIn(timeZone) {
  const written = (parts) => {
    const { format } = new Intl.DateTimeFormat(undefined, { ...parts, timeZone });
    return (time) => format(new Date(time));
  };
  const exact = written({ dateStyle: "full", timeStyle: "long" });
  return {
    date: written({ dateStyle: "medium" }),
    time: written({ dateStyle: "medium", timeStyle: "short" }),
    clock: written({ timeStyle: "medium" }),
    exact: (time) => (timeZone && timeZone !== "UTC" ? `${exact(time)}, ${timeZone}` : exact(time)),
  };
}

/**
 * Write times in this zone from now on, in UTC if the browser does not know it. The reader's own
 * zone is used while none is set.
 */
export function writeTimesIn(zone) {
  times = timesIn(knownZone(zone));
}

let home;
const moneyIn = new Map();

/** Write amounts in this currency from now on, as plain numbers while it is none. */
export function writeMoneyIn(currency) {
  home = currency;
}

function money(value, currency = home) {
  if (value === null || value === undefined) return "–";
  if (!moneyIn.has(currency)) {
    const how = currency ? { style: "currency", currency } : { minimumFractionDigits: 2 };
    moneyIn.set(currency, new Intl.NumberFormat(undefined, { ...how, maximumFractionDigits: 6 }));
  }
  return moneyIn.get(currency).format(value);
}

/** Formats of numbers and times. Money is in the account's currency, or in the one given. */
export const format = {
  number: (value) => NUMBER.format(value),
  compact: (value) => COMPACT.format(value),
  money,
  percent: (value) => PERCENT.format(value),
  date: (time) => times.date(time),
  time: (time) => times.time(time),
  /** Return the time of the day, with seconds. */
  clock: (time) => times.clock(time),
  /** Return the whole date and time, with its zone. */
  exact: (time) => times.exact(time),
  /** Return how long ago a time was, or its date after a week. */
  ago(time) {
    const seconds = (Date.parse(time) - Date.now()) / 1000;
    if (Math.abs(seconds) > 7 * 86_400) return format.date(time);
    const [unit, size] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? ["second", 1];
    return unit === "second" ? "just now" : RELATIVE.format(Math.trunc(seconds / size), unit);
  },
  /** Return a count with its noun: "1 link", "3 links". */
  count: (number, noun, plural = `${noun}s`) =>
    `${NUMBER.format(number)} ${number === 1 ? noun : plural}`,
};
