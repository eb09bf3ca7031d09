/** A report in the query of the URL, and as the requests for it. */

import { countDays, isDay } from "console/core/dates";
import { joinValues, splitValues } from "console/core/url";
import { MEASURES, groupOf, measureOf } from "console/reports/measures";
import { DEFAULT_PERIOD, PERIODS, daysOf, isRolling, rollingLength } from "console/reports/periods";

export const COMPARISONS = [
  ["", "vs time before"],
  ["previous_year", "vs year before"],
  ["none", "Not compared"],
];

/** What the time before a period of the calendar is. Before other periods it is as many days. */
const TIME_BEFORE = {
  week: "previous_week",
  month: "previous_month",
  last_month: "previous_month",
  year: "previous_year",
};

export const LAST_DAYS = [
  ["", "Including today"],
  ["yesterday", "Up to yesterday"],
];
export const INTERVALS = [
  ["", "Automatic steps"],
  ["hour", "By hour"],
  ["day", "By day"],
  ["week", "By week"],
  ["month", "By month"],
];
export const BOTS = [
  ["", "Without bots"],
  ["include", "With bots"],
  ["only", "Only bots"],
];

/**
 * The operators of filters: their names in requests, the ends of names in the URL, which no name of
 * a parameter has, and words.
 */
export const OPERATORS = [
  ["is", "", "is"],
  ["is_not", "!not", "is not"],
  ["contains", "!has", "contains"],
  ["contains_not", "!hasnot", "does not contain"],
];
const END = /!(not|has|hasnot)$/;

/** The rows of a panel on paper and in shares, and those on the overview's screen. */
const ROWS = 20;
export const ROWS_ON_SCREEN = 8;
const ALL_COUNTRIES = 250;
const HOURS_OF_WEEK = 168;
const MOST_DAYS_BY_HOUR = 31;

/**
 * Return what the query of the URL asks for, as of the day `today`, filtered by `dimensions`:
 * {period, until, days, compare, interval, bots, tests, measure, panels, filters, tagOperator,
 * having}. What it does not know is left out.
 */
export function readReport(query, { today, dimensions }) {
  const own = isDay(query.from) && isDay(query.to);
  const period = own
    ? "own"
    : Object.hasOwn(PERIODS, query.period ?? "")
      ? query.period
      : DEFAULT_PERIOD;
  const [from, to] = [query.from, query.to].sort();
  const known = (options, value) => (options.some(([one]) => one === value) ? value : "");
  const filters = {};
  for (const name of new Set([...dimensions].map((one) => one.replace(END, "")))) {
    const found = OPERATORS.map(([operator, end]) => [operator, splitValues(query[name + end])]);
    const { is, ...others } = Object.fromEntries(found.filter(([, values]) => values.length));
    if (Object.keys(others).length) filters[name] = is ? { is, ...others } : others;
    else if (is) filters[name] = is;
  }
  const until = (isRolling(period) && known(LAST_DAYS, query.until)) || undefined;
  const days = own ? { from, to } : daysOf(period, until, today);
  return {
    period,
    until,
    days,
    compare:
      query.compare === "none"
        ? undefined
        : known(COMPARISONS, query.compare) || (TIME_BEFORE[period] ?? "previous_period"),
    interval: known(intervalsFor(days), query.interval) || undefined,
    bots: known(BOTS, query.bots) || undefined,
    tests: query.tests === "only" ? "only" : undefined,
    measure: Object.hasOwn(MEASURES, query.measure ?? "") ? query.measure : "clicks",
    panels: splitValues(query.panels),
    tagOperator: operatorsOf(filters.tag).is && query.tagOperator === "AND" ? "AND" : undefined,
    filters,
    having: readHaving(query.having),
  };
}

/** Return a filter of a report, a list or an object, as values by operator. */
export function operatorsOf(filter = {}) {
  return Array.isArray(filter) ? { is: filter } : filter;
}

/** Return the changes of the URL that make this the filter by a dimension. */
export function filterQuery(dimension, filter) {
  const values = operatorsOf(filter);
  return Object.fromEntries(
    OPERATORS.map(([operator, end]) => [
      dimension + end,
      joinValues((values[operator] ?? []).filter(Boolean)),
    ]),
  );
}

/** Return the steps that are offered for days. */
export function intervalsFor(days) {
  return INTERVALS.filter(([name]) => name !== "hour" || countDays(days) <= MOST_DAYS_BY_HOUR);
}

/** Return the body of the request for a report. */
export function requestOf(
  { days, compare, interval, bots, tests, filters, tagOperator, panels, measure, having },
  cards,
  fixed,
) {
  const asked = cards
    .map((one) => shownPanel(panels, one))
    .map((panel) => ({
      groupBy: groupOf(panel),
      having: panel === "hour_of_week" ? undefined : havingOf(panel, having),
      limit: panel === "map" ? ALL_COUNTRIES : panel === "hour_of_week" ? HOURS_OF_WEEK : ROWS,
      sort: panel === "hour_of_week" ? "key" : `-${measureOf(panel, measure)}`,
      // These pictures show no change. That of 168 hours is half of the answer.
      compare: panel === "map" || panel === "hour_of_week" ? false : undefined,
    }));
  return {
    dateRange: days,
    compare,
    interval,
    filters: { ...filters, ...fixed, bots, tests, tagOperator },
    panels: asked,
  };
}

/**
 * Return what is shown of a report, as `/api/shares` takes it: its days roll unless they are own
 * ones.
 */
export function sharedReport(report, cards, fixed) {
  const { dateRange, ...others } = requestOf(report, cards, fixed);
  const shown = cards.map((one) => shownPanel(report.panels, one));
  return {
    ...(report.period === "own" ? { dateRange } : rolling(report)),
    ...others,
    measure: report.measure,
    shown,
  };
}

function rolling({ period, until }) {
  if (!isRolling(period)) return { period };
  return {
    lastDays: rollingLength(period),
    untilYesterday: until === "yesterday" || undefined,
  };
}

/** Return the panel of a card that is shown: the chosen one, else its first. */
export function shownPanel(chosen, panels) {
  return panels.find((panel) => chosen.includes(panel)) ?? panels[0];
}

/** Return the panels that are chosen as the text for the URL, once `panel` is of its card. */
export function panelsText(chosen, panels, panel) {
  const others = chosen.filter((one) => !panels.includes(one));
  return joinValues(panel === panels[0] ? others : [...others, panel]);
}

/** Return the wanted values of a filter as the text for the URL, once one is switched. */
export function switched(filter, key) {
  const { is: values = [] } = operatorsOf(filter);
  return joinValues(values.includes(key) ? values.filter((one) => one !== key) : [...values, key]);
}

export const MOST_LEVELS = 3;

/**
 * Return the cross table that the query of the URL asks for: {levels, columns, sort}. It has one
 * level at least, of `dimensions`; no columns are those that have something.
 */
export function readTable(query, dimensions, compare) {
  const levels = [...new Set(splitValues(query.levels))].filter((one) => dimensions.includes(one));
  const isMeasure = (name) => Object.hasOwn(MEASURES, name);
  const sort = compare ? query.sort : query.sort?.replace("change.", "");
  return {
    levels: levels.length ? levels.slice(0, MOST_LEVELS) : ["country", "device"],
    columns: splitValues(query.columns).filter(isMeasure),
    sort: /^-?name$/.test(sort) || isMeasure(measureOfSort(sort)) ? sort : "-clicks",
  };
}

/** Return the measure by which, or by the change of which, rows are sorted. */
export function measureOfSort(sort = "") {
  return sort.replace(/^-?(change\.)?/, "");
}

const CONDITION = /(\w+)(>=|<=)(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)/g;

/** Return the conditions of the URL on the measures of rows, "clicks>=100,roi<=0", for the API. */
export function readHaving(text = "") {
  const having = {};
  for (const [, measure, sign, number] of text.matchAll(CONDITION)) {
    if (Object.hasOwn(MEASURES, measure))
      (having[measure] ??= {})[sign === ">=" ? "min" : "max"] = Number(number);
  }
  return having;
}

/** Return conditions as the text for the URL. */
export function havingText(having) {
  const conditions = Object.entries(having).flatMap(([measure, { min, max }]) => [
    min !== undefined && `${measure}>=${min}`,
    max !== undefined && `${measure}<=${max}`,
  ]);
  return conditions.filter(Boolean).join();
}

/** Return the conditions on measures that the rows of a panel have; undefined without any. */
export function havingOf(panel, having) {
  const found = Object.entries(having).filter(([name]) => measureOf(panel, name) === name);
  return found.length ? Object.fromEntries(found) : undefined;
}
