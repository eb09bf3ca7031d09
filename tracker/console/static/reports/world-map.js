/** A map of the world, where the shade of a country stands for its value. */

import { useState } from "preact/hooks";
import { html } from "console/core/html";
import { ChartTable } from "console/reports/chart-table";
import { Legend, scaleOf } from "console/reports/shades";
import { DOTS, HEIGHT, SHAPES, WIDTH } from "console/reports/world";

const POWER = 0.5;

/**
 * The map. `rows` are {key: "DE", name, value}; `format` writes a value. The list of countries says
 * the same for keyboards and screen readers; `onChoose(row)` is called by a click.
 *
 * A few countries have most of nearly every count, so a shade stands for a power of the value.
 */
export function WorldMap({ rows, format: text, onChoose }) {
  const [at, setAt] = useState(null);
  const known = new Map(rows.map((row) => [row.key, row]));
  const scale = scaleOf(
    Math.max(0, ...rows.filter(({ key }) => key !== "unknown").map(({ value }) => value)),
    POWER,
  );
  const place = (code) => {
    const row = known.get(code);
    const chosen = row && onChoose ? { onClick: () => onChoose(row) } : {};
    return {
      class: `shade-${scale.shade(row?.value ?? 0)} ${row && onChoose ? "choosable" : ""}`,
      onPointerEnter: () => setAt(row ?? null),
      ...chosen,
    };
  };
  const unplaced = rows
    .filter(({ key }) => key === "unknown")
    .reduce((sum, { value }) => sum + value, 0);
  return html`<figure class="world-map">
    <figcaption class="hint">
      <span>
        ${
          at
            ? `${at.name}: ${text(at.value)}`
            : unplaced
              ? `Without a country: ${text(unplaced)}`
              : ""
        }
      </span>
      <${Legend} ...${{ scale, text }} />
    </figcaption>
    <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" aria-hidden="true" onPointerLeave=${() => setAt(null)}>
      ${SHAPES.map(
        ([code, path], index) => html`<path key=${index} d=${path} ...${place(code)} />`,
      )}
      ${DOTS.map(
        ([code, x, y]) => html`<circle key=${code} cx=${x} cy=${y} r="5" ...${place(code)} />`,
      )}
    </svg>
    <${ChartTable}
      title="By country"
      content=${() => html`
        <thead>
          <tr><th scope="col">Country</th><th scope="col" class="numeric">Value</th></tr>
        </thead>
        <tbody>
          ${rows.map(
            (row) => html`<tr key=${row.key}>
              <th scope="row">${row.name}</th>
              <td class="numeric">${text(row.value)}</td>
            </tr>`,
          )}
        </tbody>
      `}
    />
  </figure>`;
}
