/** A report as people look at it: tiles, a series, and the first rows of each panel. */

import { ticks } from "d3-array";

import { Icon, format, html, lazy, useId, useLayoutEffect, useRef, useState } from "console/core";
import {
  changeText,
  chartSteps,
  comparedText,
  comparedUntil,
  figureOf,
  stepChange,
  stepLine,
  stepText,
  unfinishedText,
  valueText,
  withYear,
} from "console/parts/report-words";

const WorldMap = lazy("console/parts/world-map", "WorldMap");
const HeatMap = lazy("console/parts/heat-map", "HeatMap");

/** The measures of a report: how they are called, and how a value is written. */
export const MEASURES = {
  clicks: ["Clicks", format.number],
  uniqueClicks: ["Visitors", format.number],
  conversions: ["Conversions", format.number],
  conversionRate: ["Rate", format.percent],
  value: ["Value", format.money],
  payout: ["Payout", format.money],
  botClicks: ["Bots", format.number],
};

/**
 * The panels as the page has them: [name, title of a value, title of the panel, card, whether it
 * filters].
 */
const PANELS = JSON.parse(document.getElementById("dimensions").textContent).flatMap((row) =>
  row[0] === "country" ? [row, ["map", row[1], "Map", row[3], false]] : [row],
);

/** How dimensions are called: one of them, and as the title of a panel. */
export const DIMENSIONS = Object.fromEntries(
  PANELS.map(([name, one, many]) => [name, [one, many]]),
);

/** The dimensions that can be filtered by. */
export const FILTERS = PANELS.filter(([, , , , filters]) => filters).map(([name]) => name);

/** The dimensions that panels show, by the card that they share. */
export const CARDS = [...new Set(PANELS.map(([, , , card]) => card))].map((card) =>
  PANELS.filter((row) => row[3] === card).map(([name]) => name),
);

/** Return the dimension by which the rows of a panel are asked for. */
export const groupOf = (panel) => (panel === "map" ? "country" : panel);

const OF_CONVERSIONS = ["conversions", "value", "payout"];

/** Return the measure that a panel shows if `measure` is chosen. Events have no clicks. */
export function measureOf(panel, measure) {
  if (panel === "bot") return "botClicks";
  return panel === "event" && !OF_CONVERSIONS.includes(measure) ? "conversions" : measure;
}

/**
 * Return whether a report can be filtered by the value of a row. Conversions without a click have
 * no link.
 */
export function isFilter(dimension, key) {
  return dimension !== "link" || key !== "unknown";
}

/**
 * The report. `data` is the answer to an overview; `measure` is the chosen one of MEASURES; `cards`
 * are lists of panels, of which the one in `shown` is seen.
 *
 * `actions` are {setMeasure(measure), setPanel(card, panel)}, and where the report may be changed
 * {setRange(first, last), filter(dimension, row), details(panel)}; `filters` are the values that
 * are chosen, by dimension.
 */
export function ReportView({ data, measure, cards = CARDS, shown, filters = {}, actions }) {
  const [name, text] = MEASURES[measure];
  const compared = comparedText(data);
  return html`
    <div class="tiles-box">
      <${Tiles} ...${{ data, measure, setMeasure: actions.setMeasure }} />
      ${compared && html`<p class="hint">${compared}</p>`}
    </div>
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
            actions,
          }}
        />`;
      })}
    </div>
  `;
}

// ------------------------------------------------------------------------------------- the tiles

const LONG_CHARACTERS = 16;

function Tiles({ data, measure, setMeasure }) {
  const { totals, previous } = data;
  return html`<ul class="tiles">
    ${Object.entries(MEASURES).map(
      ([key, [name, text]]) => html`<li key=${key}>
        <button
          type="button"
          class="tile"
          aria-pressed=${key === measure}
          onClick=${() => setMeasure(key)}
        >
          <span>${name}</span>
          <strong class=${text(totals[key]).length > LONG_CHARACTERS ? "long" : ""}>
            ${text(totals[key])}
          </strong>
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
      </li>`,
    )}
  </ul>`;
}

/** More of these is neither good nor bad. */
const NEUTRAL = ["botClicks"];

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

// ------------------------------------------------------------------------------------- the series

const HEIGHT = 220;
const TOP = 14;
const BOTTOM = 24;
const SIDE = 10;
const LABEL_SIZE = 11.5;
const LABEL_GAP = 10;

/**
 * A series as a line, beside that of the time before, dashed.
 *
 * `steps` and `previous` are those of `chartSteps`. `format` writes a value. Dragging over steps
 * calls `onRange(first key, last key)`, and so does Enter on a step that the keyboard chose.
 */
export function SeriesChart({ title, steps, previous, format: text, onRange }) {
  const [picture, width] = useWidth();
  const [at, setAt] = useState(null);
  const [from, setFrom] = useState(null);
  const pick = (first, last) => {
    setFrom(null);
    if (onRange) onRange(steps[Math.min(first, last)].key, steps[Math.max(first, last)].key);
  };
  const shown = at !== null && at < steps.length ? at : null;
  return html`<figure class="series">
    <figcaption>
      <strong>${title}</strong>
      <span class="numeric">${shown === null ? "" : stepLine(text, steps[shown])}</span>
    </figcaption>
    <div class="chart" ref=${picture}>
      ${
        width > 0 &&
        html`<${Lines} ...${{
          steps,
          previous,
          text,
          width,
          at: shown,
          from,
          onAt: setAt,
          onFrom: onRange && setFrom,
          onPick: pick,
        }} />`
      }
      <${StepInput} ...${{
        title,
        steps,
        text,
        at: shown ?? steps.length - 1,
        onAt: setAt,
        onPick: onRange && pick,
      }} />
    </div>
    <${SeriesTable} ...${{ title, steps, previous, text }} />
  </figure>`;
}

function Lines({ steps, previous, text, width, at, from, onAt, onFrom, onPick }) {
  const clip = useId();
  const marks = yTicks(scaledValues(steps, previous, text));
  const most = marks.at(-1);
  const x = (index) =>
    steps.length < 2 ? width / 2 : SIDE + (index * (width - 2 * SIDE)) / (steps.length - 1);
  const y = (value) => TOP + (1 - Math.max(value, 0) / most) * (HEIGHT - TOP - BOTTOM);
  const begun = steps.filter((step) => !step.isAhead);
  const over = begun.filter((step) => !step.until);
  const line = (list, first = 0) =>
    list
      .slice(first, steps.length)
      .map(
        ({ value }, index) =>
          `${index ? "L" : "M"}${x(first + index).toFixed(1)} ${y(value).toFixed(1)}`,
      )
      .join("");
  const indexAt = (event) => {
    const part =
      (event.clientX - event.currentTarget.getBoundingClientRect().left - SIDE) /
      Math.max(1, width - 2 * SIDE);
    return Math.max(0, Math.min(steps.length - 1, Math.round(part * (steps.length - 1))));
  };
  const begin = (event) => {
    if (!onFrom || event.button !== 0) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    onFrom(indexAt(event));
  };
  const end = (event) =>
    from !== null && (indexAt(event) === from ? onFrom(null) : onPick(from, indexAt(event)));
  return html`<svg
    class="lines"
    width=${width}
    height=${HEIGHT}
    viewBox="0 0 ${width} ${HEIGHT}"
    aria-hidden="true"
    onPointerMove=${(event) => onAt(indexAt(event))}
    onPointerLeave=${() => from === null && onAt(null)}
    onPointerDown=${begin}
    onPointerUp=${end}
    onPointerCancel=${() => onFrom?.(null)}
  >
    <defs><clipPath id=${clip}><rect width=${width} height=${HEIGHT} /></clipPath></defs>
    <g class="grid">
      ${marks.map((mark) => html`<line x1="0" x2=${width} y1=${y(mark)} y2=${y(mark)} />`)}
    </g>
    <g clip-path="url(#${clip})">
      ${
        from !== null &&
        at !== null &&
        html`<rect
          class="dragged"
          x=${Math.min(x(from), x(at))}
          y=${TOP}
          width=${Math.abs(x(from) - x(at))}
          height=${HEIGHT - TOP - BOTTOM}
        />`
      }
      ${previous && html`<path class="before" d=${line(previous)} />`}
      ${
        over.length > 1 && html`<path class="area" d="${line(over)}V${HEIGHT - BOTTOM}H${x(0)}Z" />`
      }
      <path class="now" d=${line(over)} />
      ${
        over.length < begun.length &&
        over.length > 0 &&
        html`<path class="unfinished" d=${line(begun, over.length - 1)} />`
      }
      ${
        begun.length === 1 &&
        html`<circle
          class="dot ${over.length ? "" : "unfinished"}"
          cx=${x(0)}
          cy=${y(steps[0].value)}
          r="4"
        />`
      }
      ${
        at !== null &&
        html`
          <line class="pointed" x1=${x(at)} x2=${x(at)} y1=${TOP} y2=${HEIGHT - BOTTOM} />
          ${
            !steps[at].isAhead &&
            html`<circle class="dot" cx=${x(at)} cy=${y(steps[at].value)} r="4" />`
          }
        `
      }
    </g>
    <g class="labels">
      ${marks
        .slice(1)
        .map((mark) => html`<text x="2" y=${y(mark) - 4}>${compactText(mark, text)}</text>`)}
      ${axisLabels(steps, x, width).map(
        ({ text, from }) => html`<text text-anchor="start" x=${from} y=${HEIGHT - 6}>
          ${text}
        </text>`,
      )}
    </g>
  </svg>`;
}

const HOURS = [1, 2, 3, 4, 6, 8, 12, 24];

/**
 * Return the labels below an axis, {text, from}: of as many steps as fit, each beginning at `from`.
 */
function axisLabels(steps, x, width) {
  const isHourly = steps[0]?.key.includes("T");
  const after = (every) =>
    isHourly
      ? (HOURS.find((hours) => hours > every) ?? 24 * (Math.floor(every / 24) + 1))
      : every + 1;
  for (let every = 1; every < steps.length; every = after(every)) {
    const labels = placed(steps, every, x, width);
    if (labels) return labels;
  }
  return placed(steps, steps.length, x, width) ?? [];
}

/**
 * Return the labels of every so many steps, at most as far out as the axis; null if two would
 * touch.
 */
function placed(steps, every, x, width) {
  const labels = [];
  const year = withYear(steps);
  let end = -LABEL_GAP;
  for (let index = 0; index < steps.length; index += every) {
    const text = axisText(steps[index], every, year);
    const length = lengthOf(text);
    const from = Math.max(0, Math.min(x(index) - length / 2, width - length));
    if (from < end + LABEL_GAP) return null;
    end = from + length;
    labels.push({ text, from });
  }
  return labels;
}

let pen;

/** Return the length of a text below the axis, in pixels. Its digits are as wide as the widest. */
function lengthOf(text) {
  pen ??= document.createElement("canvas").getContext("2d");
  pen.font = `${LABEL_SIZE}px ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(text.replace(/\d/g, "0")).width;
}

/** Return the label of a step below the axis: of an hour only the hour, at midnight the day. */
function axisText({ key, label }, every, year) {
  const [day, hour] = key.split("T");
  if (!hour || (every >= 24 && !hour.startsWith("00:00"))) return label;
  return hour.startsWith("00:00") ? stepText(day, year) : hour.slice(0, 5);
}

/** The way along the steps for keyboards and screen readers: arrow keys read them out. */
function StepInput({ title, steps, text, at, onAt, onPick }) {
  if (steps.length === 0) return null;
  const press = (event) => {
    if (event.key !== "Enter" || !onPick) return;
    event.preventDefault();
    onPick(at, at);
  };
  return html`<input
    type="range"
    class="step-input"
    aria-label="${title}: step"
    min="0"
    max=${steps.length - 1}
    value=${at}
    aria-valuetext=${stepLine(text, steps[at])}
    onFocus=${() => onAt(at)}
    onBlur=${() => onAt(null)}
    onInput=${(event) => onAt(Number(event.target.value))}
    onKeyDown=${press}
  />`;
}

function SeriesTable({ title, steps, previous, text }) {
  const [open, setOpen] = useState(false);
  return html`<details onToggle=${(event) => setOpen(event.target.open)}>
    <summary>As a table</summary>
    ${
      open &&
      html`<table>
        <caption class="visually-hidden">${title}</caption>
        <thead>
          <tr>
            <th scope="col">When</th>
            <th scope="col" class="numeric">Now</th>
            ${
              previous &&
              html`
                <th scope="col" class="numeric">Before</th>
                <th scope="col" class="numeric">Change</th>
              `
            }
          </tr>
        </thead>
        <tbody>
          ${steps.map(
            (step) => html`<tr key=${step.key}>
              <th scope="row">
                ${step.label}
                ${step.until && html` <span class="hint">${unfinishedText(step)}</span>`}
              </th>
              <td class="numeric">${valueText(text, step)}</td>
              ${
                previous &&
                html`
                  <td class="numeric">${step.before ? valueText(text, step.before) : "–"}</td>
                  <td class="numeric">${stepChange(text, step)}</td>
                `
              }
            </tr>`,
          )}
        </tbody>
      </table>`
    }
  </details>`;
}

/**
 * Return the values that the axis has to show. The rate of an unfinished step may be of few clicks.
 */
function scaledValues(steps, previous, text) {
  const isOff = (step) => step.until && text === format.percent && steps.length > 1;
  return [...steps.filter((step) => !isOff(step)), ...(previous ?? [])].map(
    ({ value }) => value ?? 0,
  );
}

/** Return the marks of the axis: whole numbers for counts, and never only zero. */
function yTicks(values) {
  const most = Math.max(0, ...values);
  if (most === 0) return [0, 1];
  const areWhole = values.every(Number.isInteger);
  const marks = ticks(0, most, 4).filter((mark) => !areWhole || Number.isInteger(mark));
  const step = marks.length > 1 ? marks[1] - marks[0] : most;
  return marks.at(-1) < most ? [...marks, marks.at(-1) + step] : marks;
}

function compactText(value, text) {
  return text === format.percent ? text(value) : format.compact(value);
}

/** Return a reference to give to an element, and the width of that element in pixels. */
function useWidth() {
  const element = useRef(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const measure = () => setWidth(Math.floor(element.current.clientWidth));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return [element, width];
}

// ------------------------------------------------------------------------------------- the panels

/** The panels without rows. */
const PICTURES = ["map", "hour_of_week"];

function Card({ panels, panel, card, rows, until, measure, filters, actions }) {
  const choose = (one) => () => actions.setPanel(card, one);
  const isCompared = !PICTURES.includes(panel) && rows?.rows.some(({ previous }) => previous);
  return html`<section class="card report-card" aria-label=${DIMENSIONS[panel][1]}>
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
                ${DIMENSIONS[one][1]}
              </button>`,
            )}
          </div>`
          : html`<h2>${DIMENSIONS[panel][1]}</h2>`
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
        chosen: filters[groupOf(panel)] ?? [],
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

function Panel({ panel, rows, measure, until, chosen, actions }) {
  const text = MEASURES[measure][1];
  const dimension = groupOf(panel);
  const toggle = actions.filter && ((row) => actions.filter(dimension, row));
  const numbers = rows.map((row) => ({ ...row, value: Number(row[measure]) }));
  if (panel === "map")
    return html`<${WorldMap} rows=${numbers} format=${text} onChoose=${toggle} />`;
  if (panel === "hour_of_week")
    return html`<${HeatMap}
      title="${MEASURES[measure][0]} by hour of the week"
      cells=${numbers.map(hourCell)}
      format=${text}
    />`;
  const seen = numbers.filter(({ key, value }) => value || chosen.includes(key));
  if (seen.length === 0) return html`<p class="about">None in this time.</p>`;
  const most = Math.max(0, ...seen.map(({ value }) => value));
  return html`<ol class="ranks">
    ${seen.map(
      (row) => html`<li key=${row.key} class=${chosen.includes(row.key) ? "chosen" : ""}>
        <svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
          <rect width=${most > 0 ? Math.max(0, (100 * row.value) / most) : 0} height="1" />
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
        <span class="numeric">${text(row.value)}</span>
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
