import assert from "node:assert/strict";
import { test } from "node:test";
import {
  filterQuery,
  havingText,
  intervalsFor,
  panelsText,
  readHaving,
  readReport,
  readTable,
  requestOf,
  sharedReport,
  shownPanel,
  switched,
} from "console/reports/query";

const TODAY = "2026-11-26";
const CARDS = [
  ["link", "tag", "event"],
  ["country", "map"],
  ["bot", "hour_of_week"],
];

const read = (query, dimensions = ["country", "tag"]) =>
  readReport(query, { today: TODAY, dimensions });

test("an empty query is the last 28 days beside as many before, of clicks without bots", () => {
  const { days, compare, measure, ...others } = read({});
  assert.deepEqual(days, { from: "2026-10-30", to: TODAY });
  assert.deepEqual([compare, measure, others.period], ["previous_period", "clicks", "28d"]);
  assert.deepEqual([others.interval, others.bots, others.tests], Array(3).fill(undefined));
  assert.deepEqual(others.filters, {});
});

test("what a query asks for in vain is left out", () => {
  const query = { period: "toString", measure: "constructor", interval: "year", bots: "x" };
  const nonsense = { compare: "x", until: "x", tests: "x", tagOperator: "OR", constructor: "x" };
  assert.deepEqual(read({ ...query, ...nonsense }), read({}));
});

test("own days are taken in their order, and only if both exist", () => {
  const { days, period } = read({ from: "2026-02-28", to: "2026-02-01" });
  assert.deepEqual([days, period], [{ from: "2026-02-01", to: "2026-02-28" }, "own"]);
  assert.equal(read({ from: "2026-02-30", to: "2026-02-01" }).period, "28d");
  assert.equal(read({ from: "2026-02-01" }).period, "28d");
});

test("periods of the calendar are compared with the one before", () => {
  const compared = Object.fromEntries(
    ["week", "month", "last_month", "year", "7d", "today"].map((period) => [
      period,
      read({ period }).compare,
    ]),
  );
  assert.deepEqual(compared, {
    week: "previous_week",
    month: "previous_month",
    last_month: "previous_month",
    year: "previous_year",
    "7d": "previous_period",
    today: "previous_period",
  });
  assert.equal(read({ compare: "none" }).compare, undefined);
  assert.equal(read({ period: "week", compare: "previous_year" }).compare, "previous_year");
});

test("only last days may end yesterday", () => {
  assert.equal(read({ period: "7d", until: "yesterday" }).days.to, "2026-11-25");
  assert.equal(read({ period: "week", until: "yesterday" }).until, undefined);
});

test("steps of an hour are for at most 31 days", () => {
  const names = (from) => intervalsFor({ from, to: TODAY }).map(([name]) => name);
  assert.ok(names("2026-10-27").includes("hour"));
  assert.ok(!names("2026-10-26").includes("hour"));
  assert.equal(read({ period: "90d", interval: "hour" }).interval, undefined);
});

test("filters are those of the dimensions that are given", () => {
  const query = { country: "DE,FR", tag: "a%2Cb", tagOperator: "AND", link: "x" };
  const { filters, tagOperator } = read(query);
  assert.deepEqual(filters, { country: ["DE", "FR"], tag: ["a,b"] });
  assert.equal(tagOperator, "AND");
  assert.equal(read({ tagOperator: "AND" }).tagOperator, undefined);
});

test("filters say what a value is not, and what is in its text", () => {
  const query = { "country!not": "DE", "tag!has": "a%2Cb,c", tag: "x", "tag!hasnot": "d" };
  const { filters } = read(query, ["country", "tag!has"]);
  const tag = { is: ["x"], contains: ["a,b", "c"], contains_not: ["d"] };
  assert.deepEqual(filters, { country: { is_not: ["DE"] }, tag });
  const changes = { tag: "x", "tag!not": null, "tag!has": "a%2Cb,c", "tag!hasnot": "d" };
  assert.deepEqual(filterQuery("tag", tag), changes);
  assert.deepEqual(requestOf(read(query), CARDS, {}).filters.country, { is_not: ["DE"] });
  assert.equal(switched(filters.country, "FR"), "FR");
  assert.equal(switched(tag, "x"), null);
  const own = { "parameter:sub.not": ["a"], "parameter:sub": { is_not: ["b"] } };
  const asked = Object.assign({}, ...Object.entries(own).map((one) => filterQuery(...one)));
  assert.deepEqual(read(asked, Object.keys(asked)).filters, own);
});

test("rows have to pass conditions on measures, in panels that have them", () => {
  const report = read({ having: "clicks>=100,roi<=-0.5,toString>=1,cost>x", panels: "event" });
  assert.deepEqual(report.having, { clicks: { min: 100 }, roi: { max: -0.5 } });
  assert.equal(havingText(report.having), "clicks>=100,roi<=-0.5");
  const extreme = { roi: { min: -1e-7 }, value: { max: 1e21 } };
  assert.deepEqual(readHaving(havingText(extreme)), extreme);
  const { panels } = requestOf(report, CARDS, {});
  const roi = { roi: { max: -0.5 } };
  assert.deepEqual(
    panels.map(({ having }) => having),
    [roi, { clicks: { min: 100 }, ...roi }, undefined],
  );
});

test("a request asks for the panel of each card that is seen", () => {
  const report = read({ panels: "event,map,hour_of_week", measure: "uniqueClicks" });
  const { panels, filters } = requestOf(report, CARDS, { link: "1" });
  const having = undefined;
  assert.deepEqual(panels, [
    { groupBy: "event", having, limit: 20, sort: "-conversions", compare: undefined },
    { groupBy: "country", having, limit: 250, sort: "-uniqueClicks", compare: false },
    { groupBy: "hour_of_week", having, limit: 168, sort: "key", compare: false },
  ]);
  assert.equal(filters.link, "1");
});

test("a share of a period rolls, and one of own days does not", () => {
  const shared = (query) => sharedReport(read(query), CARDS, {});
  const rolling = shared({ period: "7d", until: "yesterday", measure: "value" });
  assert.equal(rolling.dateRange, undefined);
  assert.deepEqual([rolling.lastDays, rolling.untilYesterday], [7, true]);
  assert.deepEqual([rolling.measure, rolling.shown], ["value", ["link", "country", "bot"]]);
  assert.equal(shared({ period: "last_week" }).period, "last_week");
  const own = { from: "2026-02-01", to: "2026-02-28" };
  assert.deepEqual(shared(own).dateRange, own);
});

test("a card shows its first panel until another is chosen", () => {
  assert.equal(shownPanel([], CARDS[0]), "link");
  assert.equal(shownPanel(["__proto__"], CARDS[0]), "link");
  assert.equal(shownPanel(["map", "tag"], CARDS[0]), "tag");
  assert.equal(panelsText(["map"], CARDS[0], "tag"), "map,tag");
  assert.equal(panelsText(["map", "tag"], CARDS[0], "event"), "map,event");
  assert.equal(panelsText(["tag"], CARDS[0], "link"), null);
});

test("a value is switched on beside others, and off again", () => {
  assert.equal(switched(undefined, "DE"), "DE");
  assert.equal(switched(["DE"], "F,R"), "DE,F%2CR");
  assert.equal(switched(["DE", "FR"], "DE"), "FR");
  assert.equal(switched(["DE"], "DE"), null);
});

const LEVELS = ["country", "device", "utm_source", "link"];
const table = (query, compare = "previous_period") => readTable(query, LEVELS, compare);

test("a table has two levels, no chosen columns, and the order of clicks at first", () => {
  const levels = ["country", "device"];
  assert.deepEqual(table({}), { levels, columns: [], sort: "-clicks" });
});

test("a table has at most three levels, each once, and columns that are measures", () => {
  const query = { levels: "link,x,link,device,country,utm_source", columns: "payout,toString,roi" };
  assert.deepEqual(table(query).levels, ["link", "device", "country"]);
  assert.deepEqual(table(query).columns, ["payout", "roi"]);
});

test("a table is sorted by name, a measure, or while it is compared by a change", () => {
  for (const sort of ["name", "-name", "payout", "-change.roi"])
    assert.equal(table({ sort }).sort, sort);
  for (const sort of ["x", "change.name", "constructor"])
    assert.equal(table({ sort }).sort, "-clicks");
  assert.equal(table({ sort: "-change.roi" }, "").sort, "-roi");
});

test("conditions on rows are read from the URL, and written as they were", () => {
  const text = "clicks>=100,roi>=-0.5,roi<=0";
  const having = { clicks: { min: 100 }, roi: { min: -0.5, max: 0 } };
  assert.deepEqual(readHaving(text), having);
  assert.equal(havingText(having), text);
  assert.deepEqual(readHaving("x>=1,clicks>1,clicks>=x,toString<=1"), {});
  assert.equal(havingText({ clicks: { min: undefined } }), "");
});
