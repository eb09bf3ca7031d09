/** A card of a report: the first rows of a dimension, or their picture. */

import { format } from "console/core/format";
import { printing } from "console/core/hooks";
import { html } from "console/core/html";
import { Icon, lazy } from "console/core/parts";
import { isFilter, isPicture, titlesOf } from "console/reports/dimensions";
import { MEASURES, RARE, groupOf } from "console/reports/measures";
import { operatorsOf } from "console/reports/query";
import { changeText, figureOf, othersText } from "console/reports/words";

const WorldMap = lazy("console/reports/world-map", "WorldMap");
const HeatMap = lazy("console/reports/heat-map", "HeatMap");

/** A card of panels, of which `panel` is seen. A `title` is that of other rows than the first. */
export function Card(props) {
  const { panels, panel, card, rows, until, measure, filters, most, actions, title } = props;
  const choose = (one) => () => actions.setPanel(card, one);
  const isCompared = !isPicture(panel) && rows?.rows.some(({ previous }) => previous);
  return html`<section class="card report-card" aria-label=${title ?? titlesOf(panel)[1]}>
    <header>
      ${
        panels.length > 1
          ? html`<div class="row panel-tabs">
            ${panels.map(
              (one) => html`<button
                type="button"
                key=${one}
                aria-pressed=${one === panel}
                onClick=${choose(one)}
              >
                ${titlesOf(one)[1]}
              </button>`,
            )}
          </div>`
          : html`<h2>${title ?? titlesOf(panel)[1]}</h2>`
      }
      <span class="hint ranks-head">
        <span>${MEASURES[measure][0]}</span>
        ${isCompared && html`<span class="change">Change</span>`}
      </span>
    </header>
    ${
      rows &&
      html`<${Panel} ...${{
        panel,
        rows: rows.rows,
        measure,
        until,
        chosen: operatorsOf(filters[groupOf(panel)]).is ?? [],
        most,
        actions,
      }} />`
    }
    ${
      actions.details &&
      rows?.totalRows > 0 &&
      panel !== "hour_of_week" &&
      html`<footer>
        <button type="button" class="link" onClick=${() => actions.details(panel)}>
          Details of ${format.number(rows.totalRows)}
        </button>
      </footer>`
    }
  </section>`;
}

function Panel({ panel, rows, measure, until, chosen, most, actions }) {
  const text = MEASURES[measure][1];
  const dimension = groupOf(panel);
  const toggle = actions.filter && ((row) => actions.filter(dimension, row));
  const numbers = rows.map((row) => ({
    ...row,
    value: Number(row[measure] ?? 0),
    others: othersText(measure, row),
  }));
  if (panel === "map")
    return html`<${WorldMap} rows=${numbers} format=${text} onChoose=${toggle} />`;
  if (panel === "hour_of_week")
    return html`<${HeatMap}
      title="${MEASURES[measure][0]} by hour of the week"
      cells=${numbers.map(hourCell)}
      format=${text}
    />`;
  const told = numbers.filter(
    ({ key, value, others, previous }) =>
      value || others || Number(previous?.[measure]) || chosen.includes(key),
  );
  const seen = printing.value ? told : told.slice(0, most);
  if (seen.length === 0) return html`<p class="about">None in this time.</p>`;
  const largest = Math.max(0, ...seen.map(({ value }) => value));
  return html`<ol class="ranks">
    ${seen.map(
      (row) => html`<li key=${row.key} class=${chosen.includes(row.key) ? "chosen" : ""}>
        <svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
          <rect width=${largest > 0 ? Math.max(0, (100 * row.value) / largest) : 0} height="1" />
        </svg>
        ${
          toggle && isFilter(dimension, row.key)
            ? html`<button
              type="button"
              aria-pressed=${chosen.includes(row.key)}
              title=${row.name}
              onClick=${() => toggle(row)}
            >
              ${row.name}
            </button>`
            : html`<span class="truncate" title=${row.name}>${row.name}</span>`
        }
        ${
          toggle &&
          dimension === "link" &&
          isFilter(dimension, row.key) &&
          html`<a href="/console/links/${row.key}" aria-label="Open ${row.name}" title="Open">
            <${Icon} name="external" />
          </a>`
        }
        <span class="numeric">${text(row.value)} ${row.others}</span>
        ${
          row.previous &&
          html`<${Change} measure=${measure} now=${row} before=${row.previous} until=${until} />`
        }
      </li>`,
    )}
  </ol>`;
}

/** Return the cell of a row by hour of the week, whose key is "1T09". */
function hourCell({ key, value }) {
  const [weekday, hour] = key.split("T").map(Number);
  return { weekday, hour, value };
}

/** More of these is neither good nor bad. */
const NEUTRAL = ["botClicks", ...RARE];

/**
 * The change of a measure from the measures `before`, up to the time `until` if they are compared
 * in part, to `now`.
 */
export function Change({ measure, now, before, until }) {
  const write = MEASURES[measure][1];
  const text = changeText(write, figureOf(now, measure), figureOf(before, measure));
  if (text === "–") return html`<span class="change faint">–</span>`;
  const kind = NEUTRAL.includes(measure)
    ? ""
    : /^[+n]/.test(text)
      ? "up"
      : text.startsWith("−")
        ? "down"
        : "";
  if (text === "new") return html`<span class="change ${kind}">new</span>`;
  const was = `${write(before[measure])}${until ? ` until ${until}` : ""}`;
  return html`<span class="change ${kind}" title="before: ${was}">
    ${text}
    <span class="visually-hidden"> against ${was} before</span>
  </span>`;
}
