/** The figures of a chart as a table, for keyboards and screen readers. */

import { useState } from "preact/hooks";
import { html } from "console/core/html";

/**
 * The table, made when it is opened. `content` returns its head and body. One that is too wide for
 * the page scrolls by itself, whatever fonts the browser has.
 */
export function ChartTable({ title, content }) {
  const [open, setOpen] = useState(false);
  return html`<details onToggle=${(event) => setOpen(event.target.open)}>
    <summary>As a table</summary>
    ${
      open &&
      html`<div class="wide-table" tabindex="0" role="region" aria-label=${title}>
        <table>
          <caption class="visually-hidden">${title}</caption>
          ${content()}
        </table>
      </div>`
    }
  </details>`;
}
