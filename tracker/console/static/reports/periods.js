/** Periods of reports and the days that they have. Days are those of `core/dates`. */

import { countDays, firstOfMonth, lastDays, mondayOf, plusDays } from "console/core/dates";

export const DEFAULT_PERIOD = "28d";

/** The periods that roll with each day, by their names in the URL. */
export const PERIODS = {
  today: "Today",
  yesterday: "Yesterday",
  "7d": "Last 7 days",
  "28d": "Last 28 days",
  "90d": "Last 90 days",
  week: "This week",
  last_week: "Last week",
  month: "This month",
  last_month: "Last month",
  year: "This year",
  "365d": "Last 365 days",
};

/** Return whether a period is so many last days. */
export function isRolling(period) {
  return /^\d+d$/.test(period);
}

/** Return how many last days a rolling period has. */
export function rollingLength(period) {
  return Number.parseInt(period, 10);
}

/** Return the days of a period as of `today`; last days end at `until`, "yesterday" or today. */
export function daysOf(period, until, today) {
  const yesterday = plusDays(today, -1);
  const monday = mondayOf(today);
  const month = firstOfMonth(today);
  switch (period) {
    case "today":
      return { from: today, to: today };
    case "yesterday":
      return { from: yesterday, to: yesterday };
    case "week":
      return { from: monday, to: today };
    case "last_week":
      return { from: plusDays(monday, -7), to: plusDays(monday, -1) };
    case "month":
      return { from: month, to: today };
    case "last_month":
      return monthOf(firstOfMonth(today, -1));
    case "year":
      return { from: `${today.slice(0, 4)}-01-01`, to: today };
    default:
      return lastDays(rollingLength(period), until === "yesterday" ? yesterday : today);
  }
}

/**
 * Return the days before (`direction` -1) or after (1) those of a report: as many, or the whole
 * month beside a month, also beside one that `today` is in.
 */
export function shifted({ from, to }, direction, today) {
  const month = monthOf(from);
  const isMonth = from === month.from && (to === month.to || (to === today && from < to));
  if (isMonth) return monthOf(firstOfMonth(from, direction));
  const count = direction * countDays({ from, to });
  return { from: plusDays(from, count), to: plusDays(to, count) };
}

function monthOf(day) {
  return { from: firstOfMonth(day), to: plusDays(firstOfMonth(day, 1), -1) };
}

/** Return the days of steps, within those of the report: its first and last week may be cut off. */
export function daysOfSteps(first, last, { interval, dateRange }) {
  const from = interval === "month" ? `${first}-01` : first.slice(0, 10);
  const to = lastDayOf(last, interval);
  return {
    from: from < dateRange.from ? dateRange.from : from,
    to: to > dateRange.to ? dateRange.to : to,
  };
}

/** Return the last day of a step. */
function lastDayOf(key, interval) {
  if (interval === "week") return plusDays(key, 6);
  if (interval === "month") return monthOf(`${key}-01`).to;
  return key.slice(0, 10);
}

/**
 * Return the interval with which to look into steps: a day by hours, a single step by its parts.
 */
export function intervalOfSteps(first, last, interval) {
  if (first.includes("T")) return { interval: "hour" };
  return first === last && interval ? { interval: null } : {};
}
