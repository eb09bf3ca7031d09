/** A series of a report as a chart and as a table. */

import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { printing } from "console/core/hooks";
import { html } from "console/core/html";
import { axisLabels, compactText, scaledValues, ticks } from "console/reports/axis";
import { ChartTable } from "console/reports/chart-table";
import { stepChange, stepLine, unfinishedText, valueText } from "console/reports/words";

const HEIGHT = 220;
const TOP = 14;
const BOTTOM = 24;
const SIDE = 10;
const LABEL_SIZE = 11.5;

/** The width on paper, at most that of the narrowest page: its labels are never made smaller. */
const PAPER_WIDTH = 640;

/**
 * A series as a line, beside that of the time before, dashed.
 *
 * `steps` and `previous` are those of `chartSteps`. `format` writes a value. Dragging over steps
 * calls `onRange(first key, last key)`, and so does Enter on a step that the keyboard chose.
 */
export function SeriesChart({ title, steps, previous, format: text, onRange }) {
  const [picture, screenWidth] = useWidth();
  const width = printing.value ? PAPER_WIDTH : screenWidth;
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
  const marks = ticks(scaledValues(steps, previous, text));
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
      ${axisLabels(steps, { x, width, lengthOf }).map(
        ({ text, from }) => html`<text text-anchor="start" x=${from} y=${HEIGHT - 6}>
          ${text}
        </text>`,
      )}
    </g>
  </svg>`;
}

let pen;

/** Return the length of a text below the axis, in pixels. Its digits are as wide as the widest. */
function lengthOf(text) {
  pen ??= document.createElement("canvas").getContext("2d");
  pen.font = `${LABEL_SIZE}px ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(text.replace(/\d/g, "0")).width;
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
  return html`<${ChartTable}
    title=${title}
    content=${() => html`
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
    `}
  />`;
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
