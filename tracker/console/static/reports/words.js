/** What a report says of its days, of the steps of its series, and of changes. */

import { todayIn } from "console/core/dates";
import { format } from "console/core/format";

const DAY_PARTS = { weekday: "short", day: "numeric", month: "short", timeZone: "UTC" };
const DAY = new Intl.DateTimeFormat(undefined, DAY_PARTS);
const DAY_OF_YEAR = new Intl.DateTimeFormat(undefined, { ...DAY_PARTS, year: "numeric" });
const MONTH = new Intl.DateTimeFormat(undefined, {
  month: "short",
  year: "numeric",
  timeZone: "UTC",
});

const yearOf = (key) => key.slice(0, 4);
const isOtherYear = (key) => yearOf(key) !== String(new Date().getFullYear());

/**
 * Return a step of a report, whatever its zone, in the reader's language: "Fri 14 Nov, 09:00". It
 * has a year if that is not this one.
 */
export function stepText(key, year = isOtherYear(key)) {
  const [day, hour] = key.split("T");
  if (day.length === 7) return MONTH.format(new Date(`${day}-01T00:00:00Z`));
  const text = (year ? DAY_OF_YEAR : DAY).format(new Date(`${day}T00:00:00Z`));
  return hour ? `${text}, ${hour.slice(0, 5)}` : text;
}

/** Return whether steps need a year: they are not all of this one. */
export function withYear(steps) {
  return steps.length > 0 && [steps[0], steps.at(-1)].some(({ key }) => isOtherYear(key));
}

/** Return steps with their texts as `label`: all with a year, or none. */
function labelled(steps) {
  const year = withYear(steps);
  return steps.map((step) => ({ ...step, label: stepText(step.key, year) }));
}

/** Return days as text: "Mon 16 Nov to Sun 22 Nov". */
export function daysText({ from, to }) {
  if (from === to) return stepText(from);
  return labelled([{ key: from }, { key: to }])
    .map(({ label }) => label)
    .join(" to ");
}

/**
 * Return the zone of a report's days, and where it changes: "Europe/Berlin; before Sun 11 Jan,
 * which has 23 hours, UTC".
 */
export function zoneText({ timeZone, timeZoneChanges = [] }) {
  const changes = timeZoneChanges.map(({ day, hours, previousTimeZone }) => {
    return `; before ${stepText(day)}, which has ${format.count(hours, "hour")}, ${previousTimeZone}`;
  });
  return [timeZone, ...changes].join("");
}

// ------------------------------------------------------------------------------------- comparison

const POINTS = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });

const clock = (moment) => moment?.slice(11, 16);

/**
 * Return the time up to which the other days of a report are compared, "04:14"; undefined if they
 * are whole.
 */
export const comparedUntil = ({ unfinished }) => clock(unfinished?.previousUntil);

/**
 * Return which days a report is compared with: "Compared with Thu 8 Oct until 04:14"; "" if with
 * none.
 */
export function comparedText({ previousDateRange, unfinished }) {
  if (!previousDateRange) return "";
  const { from, to } = previousDateRange;
  const until = unfinished?.previousUntil;
  const days = daysText({ from, to: until?.slice(0, 10) ?? to });
  return `Compared with ${days}${until ? ` until ${clock(until)}` : ""}`;
}

/** Return a measure as a number; null if it is not known, or the rate of no clicks. */
export function figureOf(measures, measure) {
  const isNone =
    (measures[measure] ?? null) === null || (measure === "conversionRate" && !measures.clicks);
  return isNone ? null : Number(measures[measure]);
}

/** Return what came in other currencies beside an amount of the account's: "+ $3.50 + ¥100". */
export function othersText(measure, { otherCurrencies = [], otherCosts = [], unspreadCost }) {
  if (!["value", "payout", "cost"].includes(measure)) return "";
  const isCost = measure === "cost";
  const others = (isCost ? otherCosts : otherCurrencies)
    .filter((one) => one[measure])
    .map((one) => `+ ${format.money(one[measure], one.currency)}`);
  if (isCost && unspreadCost) others.unshift(`${format.money(unspreadCost)} without a click`);
  return others.join(" ");
}

/**
 * Return a change as text: "+8%", of rates "+0.4 points"; "new" if there was nothing before, "–" if
 * there is nothing to compare. `write` is the format of the figures; null is no figure.
 */
export function changeText(write, now, was) {
  if (now === null || (!now && !was)) return "–";
  const isRate = write === format.percent;
  if (was === null || (!was && !isRate)) return "new";
  return isRate
    ? pointsText(100 * (now - was))
    : signed((now - was) / Math.abs(was), format.percent);
}

/** Return the difference to a figure before; empty where its change is one already. */
export function differenceText(write, now, was) {
  return write === format.percent || now === null || was === null ? "" : signed(now - was, write);
}

function pointsText(points) {
  return signed(
    points,
    (size) => `${POINTS.format(size)} ${POINTS.format(size) === "1" ? "point" : "points"}`,
  );
}

function signed(change, write) {
  const text = write(Math.abs(change));
  return text === write(0) ? `±${text}` : `${change > 0 ? "+" : "−"}${text}`;
}

// ------------------------------------------------------------------------------------- the series

/**
 * Return the series of a report as `SeriesChart` takes it: {steps, previous} of a measure.
 *
 * Steps with `isAhead` have not begun, that with `until` is not over. `before` is what a step is
 * compared with: of the unfinished one the same part, {label, value}.
 */
export function chartSteps(report, measure) {
  const { series, previousSeries, timeZone, unfinished } = report;
  const value = (measures) => figureOf(measures, measure);
  // The service knows every zone, browsers may not.
  const today = unfinished?.until.slice(0, 10) ?? todayIn(timeZone);
  const previous =
    previousSeries &&
    labelled(previousSeries).map((step) => ({ label: step.label, value: value(step) }));
  const steps = labelled(series).map((step, index) => {
    const found = {
      key: step.key,
      label: step.label,
      value: value(step),
      isAhead: isAhead(step.key, today),
    };
    if (step.key !== unfinished?.step) return { ...found, before: previous?.[index] };
    return {
      ...found,
      until: clock(unfinished.until),
      before: unfinishedBefore(report, previous?.[index], value),
    };
  });
  return { steps, previous };
}

/** Return the part of a step before that the unfinished one is compared with. */
function unfinishedBefore(report, whole, value) {
  const part = report.unfinished.previousStep;
  return part && { label: `${whole.label} until ${comparedUntil(report)}`, value: value(part) };
}

/** Return whether a step of a series has not begun. */
function isAhead(key, today) {
  if (key.includes("T")) return Date.parse(key) > Date.now();
  return key > today;
}

/** Return how far a step is that is not over: "(unfinished, until 04:14)". */
export const unfinishedText = ({ until }) => `(unfinished, until ${until})`;

/** Return a figure of the series as text; `write` is its format. */
export function valueText(write, { value, isAhead }) {
  return isAhead || value === null ? "–" : write(value);
}

/** Return the change of a step against the one before. */
export function stepChange(write, step) {
  return step.isAhead || !step.before ? "–" : changeText(write, step.value, step.before.value);
}

/** Return a step in one line: "Thu 15 Oct: 3 (before, Thu 8 Oct: 4, −25%)". */
export function stepLine(write, step) {
  const name = step.until ? `${step.label} ${unfinishedText(step)}` : step.label;
  const now = `${name}: ${step.isAhead ? "not yet" : valueText(write, step)}`;
  const { before } = step;
  return before
    ? `${now} (before, ${before.label}: ${valueText(write, before)}, ${stepChange(write, step)})`
    : now;
}
