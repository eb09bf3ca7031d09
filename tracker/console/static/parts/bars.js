/** Bars: a series of days as a picture, with the same numbers as a table. */

import { format, html, useState } from "console/core";

const HEIGHT = 100;
const GAP = 0.22;

/**
 * A series of days. `days` are {day: "2026-11-14", value}, oldest first; `noun` is what is counted,
 * such as "click".
 *
 * The day under the pointer is written above the bars; keyboards and screen readers have the table.
 */
export function Bars({ days, noun, title }) {
  const [shown, setShown] = useState(null);
  const most = Math.max(1, ...days.map(({ value }) => value));
  const total = days.reduce((sum, { value }) => sum + value, 0);
  const at = shown === null ? null : days[shown];
  return html`<figure class="series">
    <figcaption>
      <strong>${title}</strong>
      <span class="numeric">${at ? `${dayText(at.day)}: ${format.count(at.value, noun)}` : format.count(total, noun)}</span>
    </figcaption>
    <div class="plot">
      <span class="top-value" aria-hidden="true">${total > 0 && format.compact(most)}</span>
      <svg class="bars" viewBox="0 0 ${days.length} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true"
        onPointerLeave=${() => setShown(null)}>
        ${days.map(({ day, value }, number) => html`<g key=${day} class=${number === shown ? "shown" : ""} onPointerEnter=${() => setShown(number)}>
          <rect class="target" x=${number} y="0" width="1" height=${HEIGHT} />
          <${Bar} at=${number} height=${(value / most) * HEIGHT} />
        </g>`)}
      </svg>
    </div>
    <div class="ends" aria-hidden="true"><span>${days.length > 0 && dayText(days[0].day)}</span><span>${days.length > 1 && dayText(days.at(-1).day)}</span></div>
    <details>
      <summary>As a table</summary>
      <table>
        <caption class="visually-hidden">${title}, by day</caption>
        <thead><tr><th scope="col">Day</th><th scope="col" class="numeric">Count</th></tr></thead>
        <tbody>${days.map(({ day, value }) => html`<tr key=${day}><th scope="row">${dayText(day)}</th><td class="numeric">${format.number(value)}</td></tr>`)}</tbody>
      </table>
    </details>
  </figure>`;
}

/** One bar. A day that has anything is visible, however small it is beside the others. */
function Bar({ at, height }) {
  if (!height) return null;
  const drawn = Math.max(height, 2);
  return html`<rect x=${at + GAP / 2} y=${HEIGHT - drawn} width=${1 - GAP} height=${drawn} />`;
}

const DAY = new Intl.DateTimeFormat(undefined, { weekday: "short", day: "numeric", month: "short", timeZone: "UTC" });

/** Return a day of a report, whatever its zone, in the reader's language. */
function dayText(day) {
  return DAY.format(new Date(`${day}T00:00:00Z`));
}
