/** The conversions of some days as charts: their number, rate and value, and their delays. */

import { useState } from "preact/hooks";
import { api, owned } from "console/core/api";
import { lastDays } from "console/core/dates";
import { format } from "console/core/format";
import { useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { ErrorNote, Skeleton } from "console/core/parts";
import { seesAll, today } from "console/core/session";
import { ColumnChart } from "console/reports/column-chart";
import { MEASURES, RARE, shownMeasures } from "console/reports/measures";
import { SeriesChart } from "console/reports/series-chart";
import { chartSteps, comparedText, daysText } from "console/reports/words";

const DAYS = 28;
const MAX_DAYS = 731;
const REPORT_MS = 35_000;
const SHOWN = ["conversions", "conversionRate", "value", "payout"];
const UNITS = [
  [86_400, "day"],
  [3_600, "hour"],
  [60, "minute"],
];

/** All values of `bot` that a click can have: the filter for conversions with a click. */
const WITH_CLICK = [
  "none",
  "prefetch",
  "no_user_agent",
  "preview",
  "crawler",
  "headless",
  "library",
];

/**
 * The charts. `filters` are those of the log. Of states reports know only whether there is a click.
 */
export function ConversionCharts({ filters: { attribution, event, link, from, to, ...named } }) {
  const narrowed = [attribution, event, link, from, to].some(Boolean);
  if (Object.values(named).some(Boolean)) return null;
  if (attribution && attribution !== "attributed")
    return html`<p class="about">
      Charts are of all states together, or of attributed conversions.
    </p>`;
  const days = daysOf(from, to);
  if (days.from > days.to) return null;
  return html`<div class="columns">
    <${Days} days=${days} filters=${{ link, event, bot: attribution && WITH_CLICK }} />
    ${!narrowed && seesAll() && html`<${Delays} />`}
  </div>`;
}

/**
 * Return the days of the charts: the log's, up to the most days of a report; else the last days.
 */
function daysOf(from, to) {
  const end = to || today();
  const longest = lastDays(MAX_DAYS, end);
  const first = from || lastDays(DAYS, end).from;
  return { from: first > longest.from ? first : longest.from, to: end };
}

function Days({ days, filters }) {
  const [chosen, setChosen] = useState("conversions");
  const body = owned({ dateRange: days, compare: "previous_period", filters });
  const report = useLoad(
    (signal) => api.post("/api/reports/overview", body, { signal, timeout: REPORT_MS }),
    [JSON.stringify(body)],
  );
  if (report.error) return html`<${ErrorNote} error=${report.error} retry=${report.reload} />`;
  if (!report.data) return html`<div class="card"><${Skeleton} lines=${6} /></div>`;
  const { totals, previous, dateRange } = report.data;
  // Clicks are of no event, so there is no rate of one.
  const known = shownMeasures(totals, previous, chosen);
  const shown = [...SHOWN, ...RARE].filter(
    (one) => known.includes(one) && (one !== "conversionRate" || !filters.event),
  );
  const measure = shown.includes(chosen) ? chosen : "conversions";
  const [name, text] = MEASURES[measure];
  return html`<section class="card" aria-busy=${report.loading}>
    <div class="row panel-tabs">
      ${shown.map(
        (one) => html`<button
          type="button"
          key=${one}
          aria-pressed=${one === measure}
          onClick=${() => setChosen(one)}
        >
          ${MEASURES[one][0]} ${MEASURES[one][1](totals[one])}
        </button>`,
      )}
    </div>
    <${SeriesChart}
      title="${name}, ${daysText(dateRange)}"
      ...${chartSteps(report.data, measure)}
      format=${text}
    />
    <p class="hint">${comparedText(report.data)}</p>
  </section>`;
}

/** The delays are of the whole account. */
function Delays() {
  const delays = useLoad((signal) => api.get("/api/conversions/delays", {}, signal), []);
  if (delays.error) return html`<${ErrorNote} error=${delays.error} retry=${delays.reload} />`;
  if (!delays.data?.conversions) return null;
  return html`<section class="card">
    <${ColumnChart}
      title="From click to conversion, last 30 days"
      valueLabel="Conversions"
      columns=${delayColumns(delays.data.groups)}
    />
    <p class="hint">${delayText(delays.data)}</p>
  </section>`;
}

function delayColumns(groups) {
  return groups.map(({ upToSeconds, conversions }, index) => ({
    label: upToSeconds
      ? `up to ${short(upToSeconds)}`
      : `over ${short(groups[index - 1].upToSeconds)}`,
    value: conversions,
  }));
}

/** Return a length of time as narrow columns have room for: "10 min". */
const short = (seconds) => duration(seconds).replace(/minutes?/, "min");

/** Return the median delay in words. */
function delayText({ conversions, medianSeconds }) {
  const after = medianSeconds < 1 ? "a second" : duration(medianSeconds);
  if (conversions === 1) return `One conversion, within ${after} of its click.`;
  return `Half of ${format.number(conversions)} conversions came within ${after} of their click.`;
}

/** Return a length of time in its largest unit, rounded up: "6 hours". */
function duration(seconds) {
  const [size, unit] = UNITS.find(([length]) => seconds >= length) ?? [1, "second"];
  return format.count(Math.ceil(seconds / size), unit);
}
