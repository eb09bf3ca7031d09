/** A heat map: a measure by the hours of a week. */

import { useState } from "preact/hooks";
import { WEEKDAYS } from "console/core/dates";
import { html } from "console/core/html";
import { ChartTable } from "console/reports/chart-table";
import { Legend, scaleOf } from "console/reports/shades";

const HOURS = Array.from({ length: 24 }, (_, hour) => `${hour}`.padStart(2, "0"));

/**
 * The map. `cells` are {weekday: 1 for Monday to 7, hour: 0 to 23, value}; those without a value
 * may be missing. The cell under the pointer is written above; the table has every value.
 */
export function HeatMap({ title, cells, format: text }) {
  const [at, setAt] = useState(null);
  const values = new Map(cells.map(({ weekday, hour, value }) => [weekday * 24 + hour, value]));
  const scale = scaleOf(Math.max(0, ...values.values()));
  const valueOf = (day, hour) => values.get((day + 1) * 24 + hour) ?? 0;
  return html`<figure class="heat-map">
    <figcaption class="hint">
      <span>
        ${at && `${WEEKDAYS[at.day].long}, ${HOURS[at.hour]}:00: ${text(valueOf(at.day, at.hour))}`}
      </span>
      <${Legend} ...${{ scale, text }} />
    </figcaption>
    <svg viewBox="0 0 268 82" aria-hidden="true" onPointerLeave=${() => setAt(null)}>
      ${WEEKDAYS.map(({ short }, day) => html`<text x="0" y=${day * 10 + 17}>${short}</text>`)}
      ${[0, 6, 12, 18].map((hour) => html`<text x=${28 + hour * 10} y="7">${HOURS[hour]}</text>`)}
      ${WEEKDAYS.map((_, day) =>
        HOURS.map(
          (__, hour) => html`<rect
            class="shade-${scale.shade(valueOf(day, hour))}"
            x=${28 + hour * 10}
            y=${10 + day * 10}
            width="9"
            height="9"
            rx="1.5"
            onPointerEnter=${() => setAt({ day, hour })}
          />`,
        ),
      )}
    </svg>
    <${ChartTable}
      title=${title}
      content=${() => html`
        <thead>
          <tr>
            <th scope="col">Day</th>
            ${HOURS.map((hour) => html`<th scope="col" class="numeric">${hour}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${WEEKDAYS.map(
            ({ long }, day) => html`<tr>
              <th scope="row">${long}</th>
              ${HOURS.map((_, hour) => html`<td class="numeric">${text(valueOf(day, hour))}</td>`)}
            </tr>`,
          )}
        </tbody>
      `}
    />
  </figure>`;
}
