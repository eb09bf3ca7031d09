/** Overview: what the account, or one link of it, brought in some days. All of it is in the URL. */

import {
  Button,
  Empty,
  ErrorNote,
  Menu,
  PageHeader,
  Skeleton,
  Tag,
  api,
  can,
  format,
  html,
  joinValues,
  lastDays,
  lazy,
  owned,
  route,
  session,
  setQuery,
  splitValues,
  toast,
  useCallback,
  useEffect,
  useLoad,
  useShortcut,
  useState,
} from "console/core";
import {
  CARDS,
  DIMENSIONS,
  FILTERS,
  MEASURES,
  ReportView,
  groupOf,
  measureOf,
} from "console/parts/report";
import { daysText } from "console/parts/report-words";

const FilterDialog = lazy("console/parts/report-filter", "FilterDialog");
const ShareDialog = lazy("console/parts/share", "ShareDialog");
const ViewsDialog = lazy("console/parts/views", "ViewsDialog");
const DetailsDialog = lazy("console/parts/report-details", "DetailsDialog");

const DEFAULT_PERIOD = "28d";
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
const COMPARISONS = [
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
const LAST_DAYS = [
  ["", "Including today"],
  ["yesterday", "Up to yesterday"],
];
const INTERVALS = [
  ["", "Automatic steps"],
  ["hour", "By hour"],
  ["day", "By day"],
  ["week", "By week"],
  ["month", "By month"],
];
const BOTS = [
  ["", "Without bots"],
  ["include", "With bots"],
  ["only", "Only bots"],
];
const ROWS = 8;
const ALL_COUNTRIES = 250;
const HOURS_OF_WEEK = 168;
const MOST_DAYS_BY_HOUR = 31;
const REPORT_MS = 35_000;

/** The page. */
export default function Overview() {
  return html`<${Report} title="Overview" />`;
}

/**
 * The report of the account. With `fixed`, {link: id}, it is of that link only, and part of another
 * page, which has the title.
 */
export function Report({ title, fixed = {} }) {
  const { query } = route.value;
  const report = readReport(query, fixed);
  const cards = CARDS.map((panels) => panels.filter((panel) => !(groupOf(panel) in fixed)));
  const body = owned(requestOf(report, cards, fixed));
  const answer = useLoad(
    (signal) => api.post("/api/reports/overview", body, { signal, timeout: REPORT_MS }),
    [JSON.stringify(body)],
  );
  const names = useNames(answer.data);
  const [open, setOpen] = useState(null);
  useFreshness(answer, report.days);
  const step = useCallback((direction) => {
    const { days } = readReport(route.peek().query);
    if (direction < 0 || canStep(days)) setQuery({ period: null, ...shifted(days, direction) });
  }, []);
  useShortcut(
    "ArrowLeft",
    "Show the time before",
    useCallback(() => step(-1), []),
  );
  useShortcut(
    "ArrowRight",
    "Show the time after",
    useCallback(() => step(1), []),
  );
  const actions = {
    setMeasure: (measure) => setQuery({ measure: measure === "clicks" ? null : measure }),
    setPanel: (card, panel) => setQuery({ panels: panelsText(report.panels, cards[card], panel) }),
    setRange: (first, last) =>
      setQuery(
        {
          period: null,
          ...daysBetween(first, last, answer.data),
          ...intervalFor(first, last, report.interval),
        },
        { replace: false },
      ),
    filter: (dimension, { key, name }) => {
      names.set(`${dimension} ${key}`, name);
      toggleFilter(report.filters, dimension, key);
    },
    details: (panel) => setOpen({ kind: "details", panel }),
  };
  const close = () => setOpen(null);
  const shown = cards.map((panels) => shownPanel(report.panels, panels));
  const exported = { ...body, panels: undefined, interval: undefined };
  return html`
    ${title && html`<${PageHeader} title=${title} />`}
    <${Controls} ...${{ report, answer, step }} />
    <${Chips} ...${{ report, names, onAdd: () => setOpen({ kind: "filter" }) }}>
      ${
        title &&
        can("views:read") &&
        html`<${Button} onClick=${() => setOpen({ kind: "views" })}>Views<//>`
      }
      ${
        can("shares:write") &&
        !report.tests &&
        html`<${Button} onClick=${() => setOpen({ kind: "share" })}>
          Share
        <//>`
      }
      <${Menu}
        kind="plain"
        icon="download"
        label="Download as CSV"
        items=${downloads(exported, shown, report.measure, answer.data)}
      >
        CSV
      <//>
    <//>
    <${ErrorNote} error=${answer.error} retry=${answer.reload} />
    ${
      answer.progress > 0 &&
      html`<p class="hint" role="status">
        ${format.percent(Math.floor(answer.progress * 100) / 100)} is counted. The rest follows.
      </p>`
    }
    ${!answer.data && !answer.error && html`<div class="card"><${Skeleton} lines=${8} /></div>`}
    ${
      answer.data &&
      html`<div class="stack report" aria-busy=${answer.loading}>
        ${
          isEmpty(answer.data) &&
          html`<${Nothing} narrowed=${report.tests || Object.keys(report.filters).length > 0} />`
        }
        <${ReportView}
          data=${answer.data}
          measure=${report.measure}
          ...${{ cards, shown, actions, filters: report.filters }}
        />
      </div>`
    }
    ${
      open?.kind === "filter" &&
      html`<${FilterDialog} ...${{
        report,
        names,
        onClose: close,
        dimensions: FILTERS.filter((name) => !(name in fixed)),
      }} />`
    }
    ${open?.kind === "views" && html`<${ViewsDialog} onClose=${close} />`}
    ${
      open?.kind === "share" &&
      html`<${ShareDialog}
        report=${sharedReport(report, cards, fixed)}
        days=${report.days}
        onClose=${close}
      />`
    }
    ${
      open?.kind === "details" &&
      html`<${DetailsDialog} ...${{
        panel: groupOf(open.panel),
        body: exported,
        measure: measureOf(open.panel, report.measure),
        onFilter: actions.filter,
        onClose: close,
      }} />`
    }
  `;
}

// --------------------------------------------------------------------------- the report in the URL

/**
 * Return what the query of the URL asks for: {period, until, days, compare, interval, bots, tests,
 * measure, panels, filters, tagOperator}. What it does not know is left out.
 */
function readReport(query, fixed = {}) {
  const own = isDay(query.from) && isDay(query.to);
  const period = own
    ? "own"
    : Object.hasOwn(PERIODS, query.period ?? "")
      ? query.period
      : DEFAULT_PERIOD;
  const [from, to] = [query.from, query.to].sort();
  const known = (options, value) => (options.some(([one]) => one === value) ? value : "");
  const filters = {};
  for (const name of FILTERS.filter((one) => !(one in fixed))) {
    const values = splitValues(query[name]);
    if (values.length) filters[name] = values;
  }
  const until = (isRolling(period) && known(LAST_DAYS, query.until)) || undefined;
  const days = own ? { from, to } : daysOf(period, until);
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
    tagOperator: filters.tag && query.tagOperator === "AND" ? "AND" : undefined,
    filters,
  };
}

/** Return the steps that are offered for days. */
function intervalsFor(days) {
  return INTERVALS.filter(([name]) => name !== "hour" || numberOf(days) <= MOST_DAYS_BY_HOUR);
}

/** Return the body of the request for a report. */
function requestOf(
  { days, compare, interval, bots, tests, filters, tagOperator, panels, measure },
  cards,
  fixed,
) {
  const asked = cards
    .map((one) => shownPanel(panels, one))
    .map((panel) => ({
      groupBy: groupOf(panel),
      limit: panel === "map" ? ALL_COUNTRIES : panel === "hour_of_week" ? HOURS_OF_WEEK : ROWS,
      sort: panel === "hour_of_week" ? "key" : `-${measureOf(panel, measure)}`,
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
function sharedReport(report, cards, fixed) {
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
    lastDays: Number.parseInt(period, 10),
    untilYesterday: until === "yesterday" || undefined,
  };
}

function toggleFilter(filters, dimension, key) {
  const values = filters[dimension] ?? [];
  const changed = values.includes(key) ? values.filter((one) => one !== key) : [...values, key];
  setQuery({ [dimension]: joinValues(changed) }, { replace: false, stay: true });
}

function shownPanel(chosen, panels) {
  return panels.find((panel) => chosen.includes(panel)) ?? panels[0];
}

function panelsText(chosen, panels, panel) {
  const others = chosen.filter((one) => !panels.includes(one));
  return joinValues(panel === panels[0] ? others : [...others, panel]);
}

/**
 * Return the interval that is needed to look into steps: a day by hours, a single step by its
 * parts.
 */
function intervalFor(first, last, interval) {
  if (first.includes("T")) return { interval: "hour" };
  return first === last && interval ? { interval: null } : {};
}

// ----------------------------------------------------------------------------------------- days

const isDay = (text) =>
  /^[1-9]\d{3}-\d\d-\d\d$/.test(text ?? "") &&
  !Number.isNaN(Date.parse(text)) &&
  plus(text, 0) === text;

function plus(day, days) {
  return new Date(Date.parse(day) + days * 86_400_000).toISOString().slice(0, 10);
}

function numberOf({ from, to }) {
  return (Date.parse(to) - Date.parse(from)) / 86_400_000 + 1;
}

function monthsAfter(day, months) {
  const [year, month] = day.split("-").map(Number);
  return new Date(Date.UTC(year, month - 1 + months, 1)).toISOString().slice(0, 10);
}

function mondayOf(day) {
  return plus(day, -((new Date(day).getUTCDay() + 6) % 7));
}

/** Return whether a period is so many last days. */
function isRolling(period) {
  return /^\d+d$/.test(period);
}

/**
 * Return the days of a period, by the calendar of the account's time zone; last days end at
 * `until`.
 */
function daysOf(period, until) {
  const [today] = lastDays(1);
  const month = monthsAfter(today, 0);
  switch (period) {
    case "today":
      return { from: today, to: today };
    case "yesterday":
      return { from: plus(today, -1), to: plus(today, -1) };
    case "week":
      return { from: mondayOf(today), to: today };
    case "last_week":
      return { from: plus(mondayOf(today), -7), to: plus(mondayOf(today), -1) };
    case "month":
      return { from: month, to: today };
    case "last_month":
      return { from: monthsAfter(today, -1), to: plus(month, -1) };
    case "year":
      return { from: `${today.slice(0, 4)}-01-01`, to: today };
    default: {
      const to = until === "yesterday" ? plus(today, -1) : today;
      return { from: plus(to, 1 - Number.parseInt(period, 10)), to };
    }
  }
}

/**
 * Return the days before or after those of a report: as many, or the whole month beside a month,
 * also one that goes on.
 */
function shifted({ from, to }, direction) {
  const [today] = lastDays(1);
  const isMonth =
    from === monthsAfter(from, 0) &&
    (to === plus(monthsAfter(from, 1), -1) || (to === today && from < to));
  if (isMonth) {
    const first = monthsAfter(from, direction);
    return { from: first, to: plus(monthsAfter(first, 1), -1) };
  }
  const count = numberOf({ from, to });
  return { from: plus(from, direction * count), to: plus(to, direction * count) };
}

/** Return whether there is anything after these days yet. */
function canStep({ to }) {
  return to < lastDays(1)[0];
}

/** Return the days of steps, within those of the report: its first and last week may be cut off. */
function daysBetween(first, last, { interval, dateRange }) {
  const from = interval === "month" ? `${first}-01` : first.slice(0, 10);
  const to = lastDayOf(last, interval);
  return {
    from: from < dateRange.from ? dateRange.from : from,
    to: to > dateRange.to ? dateRange.to : to,
  };
}

/** Return the last day of a step. */
function lastDayOf(key, interval) {
  if (interval === "week") return plus(key, 6);
  if (interval === "month") return plus(monthsAfter(`${key}-01`, 1), -1);
  return key.slice(0, 10);
}

// ------------------------------------------------------------------------------- what is around it

function Controls({ report, answer, step }) {
  const { from, to } = report.days;
  const pick = (name, value) => setQuery({ [name]: value || null }, { replace: false });
  const period = (value) =>
    setQuery(
      value === "own"
        ? { period: null, from, to }
        : { period: value === DEFAULT_PERIOD ? null : value, from: null, to: null },
      { replace: false },
    );
  const select = (name, label, options) => {
    const chosen = options.some(([one]) => one === route.value.query[name])
      ? route.value.query[name]
      : "";
    return html`<select
      aria-label=${label}
      value=${chosen}
      onChange=${(event) => pick(name, event.target.value)}
    >
      ${options.map(
        ([value, text]) => html`<option value=${value} selected=${value === chosen}>
          ${text}
        </option>`,
      )}
    </select>`;
  };
  // While a year is typed its first digits are a year too.
  const own = (name, value) =>
    value >= "1000" && setQuery({ period: null, from, to, [name]: value }, { replace: false });
  return html`<div class="filters report-controls">
    <${Button} icon="back" label="The time before" onClick=${() => step(-1)} />
    <select
      aria-label="Period"
      value=${report.period}
      onChange=${(event) => period(event.target.value)}
    >
      ${Object.entries(PERIODS).map(
        ([value, text]) => html`<option value=${value} selected=${value === report.period}>
          ${text}
        </option>`,
      )}
      <option value="own" selected=${report.period === "own"}>Own dates</option>
    </select>
    <${Button}
      icon="forward"
      label="The time after"
      disabled=${!canStep(report.days)}
      onClick=${() => step(1)}
    />
    ${
      report.period === "own"
        ? html`
          <label class="row">
            From <input
              type="date"
              value=${from}
              max=${to}
              onChange=${(event) => own("from", event.target.value)}
            />
          </label>
          <label class="row">
            to <input
              type="date"
              value=${to}
              min=${from}
              onChange=${(event) => own("to", event.target.value)}
            />
          </label>
        `
        : html`<span class="hint">${daysText(report.days)}</span>`
    }
    ${isRolling(report.period) && select("until", "Last day", LAST_DAYS)}
    ${select("compare", "Comparison", COMPARISONS)}
    ${select("interval", "Steps", intervalsFor(report.days))}
    ${select("bots", "Bots", BOTS)}
    <span class="hint">Days of ${answer.data?.timeZone ?? session.value.account.time_zone}</span>
  </div>`;
}

/** The filters that are set, each with the way to remove it. */
function Chips({ report, names, onAdd, children }) {
  const label = (name, key) => names.get(`${name} ${key}`) ?? key;
  return html`<div class="filters chips">
    ${Object.entries(report.filters).map(([name, values]) => {
      const text = `${DIMENSIONS[name][0]} is ${values.map((key) => label(name, key)).join(name === "tag" && report.tagOperator === "AND" ? " and " : " or ")}`;
      return html`<${Tag}
        key=${name}
        onRemove=${() => setQuery({ [name]: null }, { replace: false })}
      >
        ${text}
      <//>`;
    })}
    ${
      report.tests &&
      html`<${Tag} onRemove=${() => setQuery({ tests: null }, { replace: false })}>
        Only tests
      <//>`
    }
    <${Button} icon="filter" onClick=${onAdd}>Filter<//>
    <span class="end row">${children}</span>
  </div>`;
}

function Nothing({ narrowed }) {
  if (narrowed)
    return html`<div class="note"><p>Nothing passes these filters in this time.</p></div>`;
  const action =
    can("links:write") &&
    html`<div class="row">
      <a class="button main" href="/console/start">Show me how it works</a>
      <a class="button" href="/console/links">Your links</a>
    </div>`;
  return html`<${Empty} title="No clicks in this time" action=${action}>
    <p>Open a short link, and its click is here a moment later.</p>
  <//>`;
}

function isEmpty({ totals }) {
  return !totals.clicks && !totals.botClicks && !totals.conversions;
}

/** Return the names of the values that are filtered by, by "dimension key". */
function useNames(data) {
  const [names] = useState(() => new Map());
  for (const [dimension, found] of Object.entries(data?.filterNames ?? {})) {
    for (const [key, name] of Object.entries(found)) names.set(`${dimension} ${key}`, name);
  }
  return names;
}

/** Load a report that has today again when its tab is looked at again. */
function useFreshness({ reload }, { to }) {
  useEffect(() => {
    const again = () => document.hidden || to < lastDays(1)[0] || reload();
    document.addEventListener("visibilitychange", again);
    return () => document.removeEventListener("visibilitychange", again);
  }, [reload, to]);
}

/** Return the menu of files: the series by day, and each panel that is shown, with all its rows. */
function downloads(body, shown, measure, data) {
  const days = { label: "Days", groupBy: data?.interval ?? "day", sort: "key" };
  const panels = shown.map((panel) => ({
    label: DIMENSIONS[panel][1],
    groupBy: groupOf(panel),
    sort: panel === "hour_of_week" ? "key" : `-${measureOf(panel, measure)}`,
  }));
  return [days, ...panels].map(({ label, ...by }) => ({
    label,
    icon: "download",
    run: () => download({ ...body, ...by }),
  }));
}

async function download(body) {
  try {
    const { downloadReport } = await import("console/parts/report-download");
    await downloadReport(body);
  } catch (error) {
    toast(error.message, { kind: "bad" });
  }
}
