/** The axes of a chart: marks of values, and labels of steps. */

import { format } from "console/core/format";
import { stepText, withYear } from "console/reports/words";

const LABEL_GAP = 10;
const STEPS = 4;
const ROUNDING = 1e-9;

/** The factors of a step, each from the share of a power of ten to which it is the nearest. */
const FACTORS = [
  [Math.sqrt(50), 10],
  [Math.sqrt(10), 5],
  [Math.sqrt(2), 2],
  [0, 1],
];

/** Every how many hours an axis has a label, as long as a day has several. */
const HOURS = [1, 2, 3, 4, 6, 8, 12, 24];

/**
 * Return the labels below an axis, {text, from}: of as many steps as fit, each beginning at `from`.
 * `x` is the place of a step by its number, `lengthOf` the length of a text, both in pixels.
 */
export function axisLabels(steps, place) {
  const isHourly = steps[0]?.key.includes("T");
  const after = (every) =>
    isHourly
      ? (HOURS.find((hours) => hours > every) ?? 24 * (Math.floor(every / 24) + 1))
      : every + 1;
  for (let every = 1; every < steps.length; every = after(every)) {
    const labels = placed(steps, every, place);
    if (labels) return labels;
  }
  return placed(steps, steps.length, place) ?? [];
}

/**
 * Return the labels of every so many steps, at most as far out as the axis; null if two would
 * touch.
 */
function placed(steps, every, { x, width, lengthOf }) {
  const labels = [];
  const year = withYear(steps);
  let end = -LABEL_GAP;
  for (let index = 0; index < steps.length; index += every) {
    const text = axisText(steps[index], every, year);
    const length = lengthOf(text);
    const from = Math.max(0, Math.min(x(index) - length / 2, width - length));
    if (from < end + LABEL_GAP) return null;
    end = from + length;
    labels.push({ text, from });
  }
  return labels;
}

/** Return the label of a step below the axis: of an hour only the hour, at midnight the day. */
function axisText({ key, label }, every, year) {
  const [day, hour] = key.split("T");
  if (!hour || (every >= 24 && !hour.startsWith("00:00"))) return label;
  return hour.startsWith("00:00") ? stepText(day, year) : hour.slice(0, 5);
}

/**
 * Return the values that the axis has to show. The rate of an unfinished step may be of few clicks.
 */
export function scaledValues(steps, previous, text) {
  const isOff = (step) => step.until && text === format.percent && steps.length > 1;
  return [...steps.filter((step) => !isOff(step)), ...(previous ?? [])].map(
    ({ value }) => value ?? 0,
  );
}

/**
 * Return the marks of an axis from 0 to the largest of `values` or just above it, with about four
 * steps of 1, 2 or 5 times a power of ten. Those of counts are whole, and never only zero.
 */
export function ticks(values) {
  const most = Math.max(0, ...values);
  if (most === 0) return [0, 1];
  const rough = most / STEPS;
  const power = Math.floor(Math.log10(rough));
  const factor = FACTORS.find(([from]) => rough / 10 ** power >= from)[1];
  const step = values.every(Number.isInteger) ? Math.max(1, factor * 10 ** power) : 0;
  // Powers below one are divided by: 3 / 10 is 0.3, and 3 * 0.1 is not.
  const mark = (number) =>
    step
      ? number * step
      : power < 0
        ? (number * factor) / 10 ** -power
        : number * factor * 10 ** power;
  const count = Math.ceil(most / mark(1) - ROUNDING);
  return Array.from({ length: count + 1 }, (_, number) => mark(number));
}

/** Return a mark as text, short enough for an axis. */
export function compactText(value, text) {
  return text === format.percent ? text(value) : format.compact(value);
}
