/** Columns: counts by group, with a table of the same figures. */

import { useState } from "preact/hooks";
import { format } from "console/core/format";
import { html } from "console/core/html";
import { ChartTable } from "console/reports/chart-table";

const HEIGHT = 100;
const GAP = 0.2;
const MOST_LABELS = 8;

/** Return the columns whose labels are written below: all, or the first and the last of many. */
function named(columns) {
  return columns.length <= MOST_LABELS ? columns : [columns[0], columns.at(-1)];
}

/**
 * The chart. `columns` are {label, value, bad?}; `bad` is a part on top in the colour of failures,
 * which `badLabel` names. The column under the pointer is written above.
 */
export function ColumnChart({ title, columns, valueLabel = "Count", badLabel }) {
  const [at, setAt] = useState(null);
  const most = Math.max(1, ...columns.map(({ value, bad = 0 }) => value + bad));
  const shown = at === null ? null : columns[at];
  const words = ({ label, value, bad }) =>
    `${label}: ${format.number(value)} ${valueLabel.toLowerCase()}${badLabel ? `, ${format.number(bad)} ${badLabel.toLowerCase()}` : ""}`;
  const height = (value) => (value > 0 ? Math.max(1.5, (HEIGHT * value) / most) : 0);
  return html`<figure class="series">
    <figcaption><strong>${title}</strong><span>${shown && words(shown)}</span></figcaption>
    <svg
      class="columns-chart"
      viewBox="0 0 ${Math.max(1, columns.length)} ${HEIGHT}"
      preserveAspectRatio="none"
      aria-hidden="true"
      onPointerLeave=${() => setAt(null)}
    >
      ${columns.map(
        (
          { label, value, bad = 0 },
          index,
        ) => html`<g key=${label} onPointerEnter=${() => setAt(index)}>
          <rect class="target" x=${index} width="1" height=${HEIGHT} />
          <rect
            x=${index + GAP / 2}
            y=${HEIGHT - height(value)}
            width=${1 - GAP}
            height=${height(value)}
          />
          <rect
            class="bad"
            x=${index + GAP / 2}
            y=${Math.max(0, HEIGHT - height(value) - height(bad))}
            width=${1 - GAP}
            height=${height(bad)}
          />
        </g>`,
      )}
    </svg>
    <div class="column-labels" aria-hidden="true">
      ${named(columns).map(({ label }) => html`<span>${label}</span>`)}
    </div>
    <${ChartTable}
      title=${title}
      content=${() => html`
        <thead>
          <tr>
            <th scope="col">Group</th>
            <th scope="col" class="numeric">${valueLabel}</th>
            ${badLabel && html`<th scope="col" class="numeric">${badLabel}</th>`}
          </tr>
        </thead>
        <tbody>
          ${columns.map(
            ({ label, value, bad }) => html`<tr key=${label}>
              <th scope="row">${label}</th>
              <td class="numeric">${format.number(value)}</td>
              ${badLabel && html`<td class="numeric">${format.number(bad)}</td>`}
            </tr>`,
          )}
        </tbody>
      `}
    />
  </figure>`;
}
