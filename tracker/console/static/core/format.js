/** Numbers and times as text, in the reader's language and time zone. */

const NUMBER = new Intl.NumberFormat();

const COMPACT = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });

const MONEY = new Intl.NumberFormat(undefined, {
  minimumFractionDigits: 2,
  maximumFractionDigits: 6,
});

const PERCENT = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 1 });

const DATE = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

const TIME = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });

const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });

const UNITS = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

/** Formats of numbers and times, in the reader's language and time zone. */
export const format = {
  number: (value) => NUMBER.format(value),
  compact: (value) => COMPACT.format(value),
  money: (value) => (value === null || value === undefined ? "–" : MONEY.format(value)),
  percent: (value) => PERCENT.format(value),
  date: (time) => DATE.format(new Date(time)),
  time: (time) => TIME.format(new Date(time)),
  exact: (time) => EXACT.format(new Date(time)),
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
