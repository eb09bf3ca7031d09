/** A report as people look at it: tiles, a series, and the first rows of each panel. */

import { ticks } from "d3-array";

import { Icon, format, html, lazy, todayIn, useId, useLayoutEffect, useRef, useState } from "console/core";

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

/** The dimensions that panels show, by the card that they share. */
export const CARDS = [
  ["link", "tag", "domain"],
  ["country", "map"],
  ["device", "browser", "os"],
  ["referrer", "utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content"],
  ["event", "bot"],
  ["hour_of_week"],
];

/** How dimensions are called: one of them, and as the title of a panel. */
export const DIMENSIONS = {
  link: ["Link", "Links"],
  tag: ["Tag", "Tags"],
  domain: ["Domain", "Domains"],
  country: ["Country", "Countries"],
  map: ["Country", "Map"],
  device: ["Device", "Devices"],
  browser: ["Browser", "Browsers"],
  os: ["System", "Systems"],
  referrer: ["Referrer", "Referrers"],
  utm_source: ["UTM source", "Source"],
  utm_medium: ["UTM medium", "Medium"],
  utm_campaign: ["UTM campaign", "Campaign"],
  utm_term: ["UTM term", "Term"],
  utm_content: ["UTM content", "Content"],
  event: ["Event", "Events"],
  bot: ["Bot", "Bots"],
  hour_of_week: ["Hour of the week", "Hours of the week"],
};

/** Return the dimension by which the rows of a panel are asked for. */
export const groupOf = (panel) => (panel === "map" ? "country" : panel);

const OF_CONVERSIONS = ["conversions", "value", "payout"];

/** Return the measure that a panel shows if `measure` is chosen. Events have no clicks. */
export function measureOf(panel, measure) {
  if (panel === "bot") return "botClicks";
  return panel === "event" && !OF_CONVERSIONS.includes(measure) ? "conversions" : measure;
}

/** Return whether a report can be filtered by the value of a row. Conversions without a click have no link. */
export function isFilter(dimension, key) {
  return dimension !== "link" || key !== "unknown";
}

/** Return a change as text, such as "+8%"; "new" if there was nothing before. */
export function changeText(change) {
  if (change === null || change === undefined) return "new";
  const text = format.percent(Math.abs(change));
  return change > 0 ? `+${text}` : change < 0 ? `−${text}` : "±0%";
}

/**
 * The report. `data` is the answer to an overview; `measure` is the chosen one of MEASURES; `cards`
 * are lists of panels, of which the one in `shown` is seen.
 *
 * `actions` are {setMeasure(measure), setPanel(card, panel)}, and where the report may be changed
 * {setRange(first, last), filter(dimension, row), details(panel)}; `filters` are the values that are
 * chosen, by dimension.
 */
export function ReportView({ data, measure, cards = CARDS, shown, filters = {}, actions }) {
  const [name, text] = MEASURES[measure];
  const values = (steps) => steps?.map((step) => ({ key: step.key, label: stepText(step.key), value: Number(step[measure]) }));
  const series = values(data.series).map((step) => ({ ...step, isAhead: isAhead(step.key, data.timeZone) }));
  return html`
    <${Tiles} ...${{ data, measure, setMeasure: actions.setMeasure }} />
    <section class="card"><${SeriesChart} title="${name} by ${data.interval}" steps=${series} previous=${values(data.previousSeries)}
      format=${text} onRange=${actions.setRange} /></section>
    <div class="report-cards">
      ${cards.map((panels, card) => {
        const panel = panels.includes(shown[card]) ? shown[card] : panels[0];
        const rows = data.panels[groupOf(panel)];
        return html`<${Card} key=${panels[0]} ...${{ panels, panel, card, rows, measure: measureOf(panel, measure), filters, actions }} />`;
      })}
    </div>`;
}

// ------------------------------------------------------------------------------------- the tiles

function Tiles({ data, measure, setMeasure }) {
  const { totals, previous, change } = data;
  return html`<ul class="tiles">
    ${Object.entries(MEASURES).map(([key, [name, text]]) => html`<li key=${key}>
      <button type="button" class="tile" aria-pressed=${key === measure} onClick=${() => setMeasure(key)}>
        <span>${name}</span>
        <strong>${text(totals[key])}</strong>
        ${previous && html`<${Change} change=${change[key]} before=${text(previous[key])} was=${Number(previous[key])} now=${Number(totals[key])} />`}
      </button>
    </li>`)}
  </ul>`;
}

function Change({ change, before, was, now }) {
  if (!was && !now) return html`<span class="faint">–</span>`;
  const kind = change === null || change > 0 ? "up" : change < 0 ? "down" : "";
  return html`<span class="change ${kind}" title="before: ${before}">${changeText(change)}<span class="visually-hidden"> against ${before} before</span></span>`;
}

// ------------------------------------------------------------------------------------- the series

const HEIGHT = 220;
const TOP = 14;
const BOTTOM = 24;
const SIDE = 10;
const LABEL_WIDTH = 92;

/**
 * A series as a line, beside that of the time before, dashed.
 *
 * `steps` and `previous` are lists of {key, label, value}; steps with `isAhead` have not begun, and
 * have no value yet. `format` writes a value. Dragging over
 * steps calls `onRange(first key, last key)`, and so does Enter on a step that the keyboard chose.
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
    <figcaption><strong>${title}</strong><span class="numeric">${shown === null ? "" : stepLine(steps[shown], previous?.[shown], text)}</span></figcaption>
    <div class="chart" ref=${picture}>
      ${width > 0 && html`<${Lines} ...${{ steps, previous, text, width, at: shown, from, onAt: setAt, onFrom: onRange && setFrom, onPick: pick }} />`}
      <${StepInput} ...${{ title, steps, previous, text, at: shown ?? steps.length - 1, onAt: setAt, onPick: onRange && pick }} />
    </div>
    <${SeriesTable} ...${{ title, steps, previous, text }} />
  </figure>`;
}

function Lines({ steps, previous, text, width, at, from, onAt, onFrom, onPick }) {
  const clip = useId();
  const values = [...steps, ...(previous ?? [])].map(({ value }) => value);
  const marks = yTicks(values);
  const most = marks.at(-1);
  const x = (index) => (steps.length < 2 ? width / 2 : SIDE + (index * (width - 2 * SIDE)) / (steps.length - 1));
  const y = (value) => TOP + (1 - Math.max(value, 0) / most) * (HEIGHT - TOP - BOTTOM);
  const begun = steps.filter((step) => !step.isAhead);
  const line = (list) => list.slice(0, steps.length).map(({ value }, index) => `${index ? "L" : "M"}${x(index).toFixed(1)} ${y(value).toFixed(1)}`).join("");
  const indexAt = (event) => {
    const part = (event.clientX - event.currentTarget.getBoundingClientRect().left - SIDE) / Math.max(1, width - 2 * SIDE);
    return Math.max(0, Math.min(steps.length - 1, Math.round(part * (steps.length - 1))));
  };
  const begin = (event) => {
    if (!onFrom || event.button !== 0) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    onFrom(indexAt(event));
  };
  const end = (event) => from !== null && (indexAt(event) === from ? onFrom(null) : onPick(from, indexAt(event)));
  const every = labelEvery(steps, Math.max(1, Math.floor(width / LABEL_WIDTH)));
  return html`<svg class="lines" width=${width} height=${HEIGHT} viewBox="0 0 ${width} ${HEIGHT}" aria-hidden="true"
      onPointerMove=${(event) => onAt(indexAt(event))} onPointerLeave=${() => from === null && onAt(null)}
      onPointerDown=${begin} onPointerUp=${end} onPointerCancel=${() => onFrom?.(null)}>
    <defs><clipPath id=${clip}><rect width=${width} height=${HEIGHT} /></clipPath></defs>
    <g class="grid">${marks.map((mark) => html`<line x1="0" x2=${width} y1=${y(mark)} y2=${y(mark)} />`)}</g>
    <g clip-path="url(#${clip})">
      ${from !== null && at !== null && html`<rect class="dragged" x=${Math.min(x(from), x(at))} y=${TOP} width=${Math.abs(x(from) - x(at))} height=${HEIGHT - TOP - BOTTOM} />`}
      ${previous && html`<path class="before" d=${line(previous)} />`}
      ${begun.length > 1 && html`<path class="area" d="${line(begun)}V${HEIGHT - BOTTOM}H${x(0)}Z" />`}
      <path class="now" d=${line(begun)} />
      ${begun.length === 1 && html`<circle class="dot" cx=${x(0)} cy=${y(steps[0].value)} r="4" />`}
      ${at !== null && html`<line class="pointed" x1=${x(at)} x2=${x(at)} y1=${TOP} y2=${HEIGHT - BOTTOM} />${!steps[at].isAhead && html`<circle class="dot" cx=${x(at)} cy=${y(steps[at].value)} r="4" />`}`}
    </g>
    <g class="labels">
      ${marks.slice(1).map((mark) => html`<text x="2" y=${y(mark) - 4}>${compactText(mark, text)}</text>`)}
      ${steps.map((step, index) => index % every === 0 && html`<text x=${x(index)} y=${HEIGHT - 6} text-anchor=${index === 0 ? "start" : x(index) > width - LABEL_WIDTH / 2 ? "end" : "middle"}>${axisText(step, every)}</text>`)}
    </g>
  </svg>`;
}

const HOURS = [1, 2, 3, 4, 6, 8, 12, 24];

/** Return after how many steps one is labelled, if there is room for `most`. Hours divide days. */
function labelEvery(steps, most) {
  const every = Math.max(1, Math.ceil(steps.length / most));
  if (!steps[0]?.key.includes("T")) return every;
  return HOURS.find((hours) => hours >= every) ?? 24 * Math.ceil(every / 24);
}

/** Return the label of a step below the axis: of an hour only the hour, at midnight the day. */
function axisText({ key, label }, every) {
  const [day, hour] = key.split("T");
  if (!hour || (every >= 24 && !hour.startsWith("00:00"))) return label;
  return hour.startsWith("00:00") ? stepText(day) : hour.slice(0, 5);
}

/** The way along the steps for keyboards and screen readers: arrow keys read them out. */
function StepInput({ title, steps, previous, text, at, onAt, onPick }) {
  if (steps.length === 0) return null;
  const press = (event) => {
    if (event.key !== "Enter" || !onPick) return;
    event.preventDefault();
    onPick(at, at);
  };
  return html`<input type="range" class="step-input" aria-label="${title}: step" min="0" max=${steps.length - 1} value=${at}
    aria-valuetext=${stepLine(steps[at], previous?.[at], text)} onFocus=${() => onAt(at)} onBlur=${() => onAt(null)}
    onInput=${(event) => onAt(Number(event.target.value))} onKeyDown=${press} />`;
}

function SeriesTable({ title, steps, previous, text }) {
  const [open, setOpen] = useState(false);
  return html`<details onToggle=${(event) => setOpen(event.target.open)}>
    <summary>As a table</summary>
    ${open && html`<table>
      <caption class="visually-hidden">${title}</caption>
      <thead><tr><th scope="col">When</th><th scope="col" class="numeric">Now</th>${previous && html`<th scope="col" class="numeric">Before</th><th scope="col" class="numeric">Change</th>`}</tr></thead>
      <tbody>${steps.map((step, index) => html`<tr key=${step.key}>
        <th scope="row">${step.label}</th><td class="numeric">${step.isAhead ? "–" : text(step.value)}</td>
        ${previous && html`<td class="numeric">${previous[index] ? text(previous[index].value) : "–"}</td><td class="numeric">${previous[index] ? changeOf(step, previous[index]) : "–"}</td>`}
      </tr>`)}</tbody>
    </table>`}
  </details>`;
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

function changeOf(step, before) {
  if (step.isAhead || (!step.value && !before.value)) return "–";
  return changeText(before.value ? step.value / before.value - 1 : null);
}

function stepLine(step, before, text) {
  const now = `${step.label}: ${step.isAhead ? "not yet" : text(step.value)}`;
  return before ? `${now} (before, ${before.label}: ${text(before.value)}, ${changeOf(step, before)})` : now;
}

/** Return whether a step of a series has not begun. */
function isAhead(key, zone) {
  if (key.includes("T")) return Date.parse(key) > Date.now();
  return key > todayIn(zone);
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

const DAY = new Intl.DateTimeFormat(undefined, { weekday: "short", day: "numeric", month: "short", timeZone: "UTC" });
const MONTH = new Intl.DateTimeFormat(undefined, { month: "short", year: "numeric", timeZone: "UTC" });

/** Return a step of a report, whatever its zone, in the reader's language: "Fri 14 Nov, 09:00". */
export function stepText(key) {
  const [day, hour] = key.split("T");
  if (day.length === 7) return MONTH.format(new Date(`${day}-01T00:00:00Z`));
  const text = DAY.format(new Date(`${day}T00:00:00Z`));
  return hour ? `${text}, ${hour.slice(0, 5)}` : text;
}

// ------------------------------------------------------------------------------------- the panels

function Card({ panels, panel, card, rows, measure, filters, actions }) {
  const choose = (one) => () => actions.setPanel(card, one);
  return html`<section class="card report-card" aria-label=${DIMENSIONS[panel][1]}>
    <header>
      ${panels.length > 1
        ? html`<div class="row panel-tabs">${panels.map((one) => html`<button type="button" key=${one} aria-pressed=${one === panel} onClick=${choose(one)}>${DIMENSIONS[one][1]}</button>`)}</div>`
        : html`<h2>${DIMENSIONS[panel][1]}</h2>`}
      <span class="hint">${MEASURES[measure][0]}</span>
    </header>
    ${rows && html`<${Panel} ...${{ panel, rows: rows.rows, measure, chosen: filters[groupOf(panel)] ?? [], actions }} />`}
    ${actions.details && rows?.totalRows > 0 && panel !== "hour_of_week" && html`<footer><button type="button" class="link" onClick=${() => actions.details(panel)}>Details of ${format.number(rows.totalRows)}</button></footer>`}
  </section>`;
}

function Panel({ panel, rows, measure, chosen, actions }) {
  const text = MEASURES[measure][1];
  const dimension = groupOf(panel);
  const toggle = actions.filter && ((row) => actions.filter(dimension, row));
  const numbers = rows.map((row) => ({ ...row, value: Number(row[measure]) }));
  if (panel === "map") return html`<${WorldMap} rows=${numbers} format=${text} onChoose=${toggle} />`;
  if (panel === "hour_of_week") return html`<${HeatMap} title="${MEASURES[measure][0]} by hour of the week" cells=${numbers.map(hourCell)} format=${text} />`;
  const seen = numbers.filter(({ key, value }) => value || chosen.includes(key));
  if (seen.length === 0) return html`<p class="about">None in this time.</p>`;
  const most = Math.max(0, ...seen.map(({ value }) => value));
  return html`<ol class="ranks">
    ${seen.map((row) => html`<li key=${row.key} class=${chosen.includes(row.key) ? "chosen" : ""}>
      <svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true"><rect width=${most > 0 ? Math.max(0, (100 * row.value) / most) : 0} height="1" /></svg>
      ${toggle && isFilter(dimension, row.key)
        ? html`<button type="button" aria-pressed=${chosen.includes(row.key)} title=${row.name} onClick=${() => toggle(row)}>${row.name}</button>`
        : html`<span class="truncate" title=${row.name}>${row.name}</span>`}
      ${toggle && dimension === "link" && isFilter(dimension, row.key) && html`<a href="/console/links/${row.key}" aria-label="Open ${row.name}" title="Open"><${Icon} name="external" /></a>`}
      <span class="numeric">${text(row.value)}</span>
    </li>`)}
  </ol>`;
}

/** Return the cell of a row by hour of the week, whose key is "1T09". */
function hourCell({ key, value }) {
  const [weekday, hour] = key.split("T").map(Number);
  return { weekday, hour, value };
}
