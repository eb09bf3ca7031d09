/** The conversions of the last days as charts: their number, rate and value, and their delays. */

import { ErrorNote, Skeleton, api, format, html, lastRange, owned, useLoad, useState } from "console/core";
import { ColumnChart } from "console/parts/column-chart";
import { MEASURES, SeriesChart, stepText } from "console/parts/report";

const DAYS = 28;
const SHOWN = ["conversions", "conversionRate", "value", "payout"];
const UNITS = [[86_400, "day"], [3_600, "hour"], [60, "minute"]];

/** The charts. `filters` are those of a report. */
export function ConversionCharts({ filters }) {
  const [measure, setMeasure] = useState("conversions");
  const report = useLoad((signal) => api.post("/api/reports/overview", owned({ dateRange: lastRange(DAYS), interval: "day", compare: "previous_period", filters }), { signal }), [JSON.stringify(filters)]);
  const delays = useLoad((signal) => api.get("/api/conversions/delays", {}, signal), []);
  // The delays are those of the account.
  const narrowed = Object.values(filters).some(Boolean);
  if (report.error) return html`<${ErrorNote} error=${report.error} retry=${report.reload} />`;
  if (!report.data) return html`<div class="card"><${Skeleton} lines=${6} /></div>`;
  const { totals, series, previousSeries } = report.data;
  const [name, text] = MEASURES[measure];
  const steps = (list) => list.map((step) => ({ key: step.key, label: stepText(step.key), value: Number(step[measure]) }));
  return html`<div class="columns">
    <section class="card">
      <div class="row panel-tabs">${SHOWN.map((one) => html`<button type="button" key=${one} aria-pressed=${one === measure} onClick=${() => setMeasure(one)}>${MEASURES[one][0]} ${MEASURES[one][1](totals[one])}</button>`)}</div>
      <${SeriesChart} title="${name}, last ${DAYS} days" steps=${steps(series)} previous=${steps(previousSeries)} format=${text} />
    </section>
    <${ErrorNote} error=${delays.error} retry=${delays.reload} />
    ${!narrowed && delays.data?.conversions > 0 && html`<section class="card">
      <${ColumnChart} title="From click to conversion" valueLabel="Conversions" columns=${delayColumns(delays.data.groups)} />
      <p class="hint">Half of the last ${format.number(delays.data.conversions)} of 30 days took less than ${duration(delays.data.medianSeconds)}.</p>
    </section>`}
  </div>`;
}

function delayColumns(groups) {
  return groups.map(({ upToSeconds, conversions }, index) => ({
    label: upToSeconds ? `up to ${duration(upToSeconds)}` : `over ${duration(groups[index - 1].upToSeconds)}`,
    value: conversions,
  }));
}

/** Return a length of time in its largest unit: "6 hours". */
function duration(seconds) {
  const [size, unit] = UNITS.find(([length]) => seconds >= length) ?? [1, "second"];
  return format.count(Math.round(seconds / size), unit);
}
