/** A report as people look at it: tiles, a series, and the first rows of each panel. */

import { html } from "console/core/html";
import { Choice } from "console/core/parts";
import { Card, Change } from "console/reports/card";
import { CARDS, titlesOf } from "console/reports/dimensions";
import { MEASURES, groupOf, measureOf, shownMeasures } from "console/reports/measures";
import { SeriesChart } from "console/reports/series-chart";
import { chartSteps, comparedText, comparedUntil, othersText } from "console/reports/words";

/**
 * The report. `data` is the answer to an overview; `measure` is the chosen one of MEASURES; `cards`
 * are lists of panels, of which the one in `shown` is seen.
 *
 * `actions` are {setMeasure(measure), setPanel(card, panel)}, and where the report may be changed
 * {setRange(first, last), filter(dimension, row), details(panel)}; `filters` are the values that
 * are chosen, by dimension. The rows that changed most are by the dimension `mover`, of `movers`.
 * A panel has `most` rows on the screen, and all of them on paper.
 */
export function ReportView(props) {
  const { data, measure, cards = CARDS, shown, filters = {}, most, actions } = props;
  const [name, text] = MEASURES[measure];
  const compared = comparedText(data);
  return html`
    <div class="tiles-box">
      <${Tiles} ...${{ data, measure, setMeasure: actions.setMeasure }} />
      ${compared && html`<p class="hint">${compared}</p>`}
    </div>
    ${Number(data.previous?.clicks) > 0 && data.movers && html`<${Movers} ...${props} />`}
    <section class="card">
      <${SeriesChart}
        title="${name} by ${data.interval}"
        ...${chartSteps(data, measure)}
        format=${text}
        onRange=${actions.setRange}
      />
    </section>
    <div class="report-cards">
      ${cards.map((panels, card) => {
        const panel = panels.includes(shown[card]) ? shown[card] : panels[0];
        const rows = data.panels[groupOf(panel)];
        return html`<${Card}
          key=${panels[0]}
          ...${{
            panels,
            panel,
            card,
            rows,
            until: comparedUntil(data),
            measure: measureOf(panel, measure),
            filters,
            most,
            actions,
          }}
        />`;
      })}
    </div>
  `;
}

/** The rows that gained and lost most of the measure since the compared days. */
function Movers({ data, measure, filters, mover, movers, actions }) {
  const lists = { "Gained most": data.movers.gained, "Lost most": data.movers.lost };
  return html`
    <div class="filters">
      <${Choice}
        label="Gained and lost by"
        value=${mover}
        options=${movers.map((one) => [one, `By ${titlesOf(one)[0]}`])}
        onInput=${actions.setMover}
      />
    </div>
    <div class="report-cards">
      ${Object.entries(lists).map(
        ([title, rows]) => html`<${Card}
          key=${title}
          ...${{ title, filters, panel: mover, panels: [mover], until: comparedUntil(data) }}
          rows=${{ rows }}
          measure=${measureOf(mover, measure)}
          actions=${{ filter: actions.filter }}
        />`,
      )}
    </div>
  `;
}

const LONG_CHARACTERS = 16;

function Tiles({ data, measure, setMeasure }) {
  const { totals, previous } = data;
  return html`<ul class="tiles">
    ${shownMeasures(totals, previous, measure).map((key) => {
      const [name, text, about] = MEASURES[key];
      const others = othersText(key, totals);
      return html`<li key=${key}>
        <button
          type="button"
          class="tile"
          title=${about}
          aria-pressed=${key === measure}
          onClick=${() => setMeasure(key)}
        >
          <span>${name}</span>
          <strong class=${text(totals[key]).length > LONG_CHARACTERS ? "long" : ""}>
            ${text(totals[key])}
          </strong>
          ${others && html`<span class="hint">${others}</span>`}
          ${
            previous &&
            html`<${Change}
              measure=${key}
              now=${totals}
              before=${previous}
              until=${comparedUntil(data)}
            />`
          }
        </button>
      </li>`;
    })}
  </ul>`;
}
