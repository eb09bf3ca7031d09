/** How the deliveries of a webhook went, as charts. */

import { api } from "console/core/api";
import { format } from "console/core/format";
import { useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { ErrorNote } from "console/core/parts";
import { ColumnChart } from "console/reports/column-chart";
import { stepText } from "console/reports/words";

/**
 * The charts; nothing while there are no deliveries. `path` is that of the webhook in the API. They are
 * loaded again when `counts` of waiting deliveries change.
 */
export function DeliveryCharts({ path, counts }) {
  const found = useLoad((signal) => api.get(`${path}/statistics`, {}, signal), [path, counts]);
  if (found.error) return html`<${ErrorNote} error=${found.error} retry=${found.reload} />`;
  if (!found.data?.deliveries) return null;
  const { days, deliveries, medianMilliseconds, p95Milliseconds } = found.data;
  const total = (state) => days.reduce((sum, day) => sum + day[state], 0);
  const figure = (name, value) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`;
  return html`<section class="card">
    <dl class="figures">
      ${figure("Delivered", format.number(total("delivered")))}
      ${figure("Failed", format.number(total("failed")))}
      ${figure("Failing", format.number(total("retrying")))}
      ${figure("Waiting", format.number(total("due") - total("retrying")))}
      ${figure("Answer, half within", milliseconds(medianMilliseconds))}
      ${figure("Answer, 95 % within", milliseconds(p95Milliseconds))}
    </dl>
    <${ColumnChart}
      title="The last ${format.count(deliveries, "delivery", "deliveries")} by day"
      valueLabel="Delivered"
      badLabel="Failed or failing"
      columns=${days.map((day) => ({
        label: stepText(day.day),
        value: day.delivered,
        bad: day.failed + day.retrying,
      }))}
    />
  </section>`;
}

function milliseconds(value) {
  return value === null ? "–" : `${format.number(value)} ms`;
}
