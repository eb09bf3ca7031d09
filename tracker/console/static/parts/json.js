/** JSON as people read it: indented, coloured, with parts that fold. */

import { useState } from "preact/hooks";
import { format } from "console/core/format";
import { html } from "console/core/html";
import { CopyButton } from "console/core/parts";

const OPEN_LEVELS = 2;
const DEEPEST = 40;
const SHOWN_ENTRIES = 100;

/**
 * JSON text, folded below the second level. Text that is not JSON is shown as it is.
 *
 * Numbers keep their digits: an id of 19 digits is not rounded to what JavaScript can hold.
 */
export function JsonViewer({ text, label = "the JSON" }) {
  const parsed = parse(text);
  return html`<div class="code-block json">
    ${
      parsed
        ? html`<div class="tree">
          <${Value} value=${parsed.value} level=${0} />
        </div>`
        : html`<pre>${text}</pre>`
    }
    <${CopyButton} text=${text} label="Copy ${label}" />
  </div>`;
}

/** A number as it was written. */
class Digits {
  constructor(text) {
    this.text = text;
  }
}

function parse(text) {
  try {
    // Browsers that give no source of a number show it as JavaScript holds it.
    const keepDigits = (_, value, context) =>
      typeof value === "number" ? new Digits(context?.source ?? String(value)) : value;
    return { value: JSON.parse(text, keepDigits) };
  } catch {
    return null;
  }
}

function Value({ value, level }) {
  if (value instanceof Digits) return html`<span class="number">${value.text}</span>`;
  if (typeof value === "string") return html`<span class="string">${JSON.stringify(value)}</span>`;
  if (value === null || typeof value === "boolean")
    return html`<span class="word">${String(value)}</span>`;
  if (level >= DEEPEST) return html`<span class="faint">nested deeper than is shown</span>`;
  return html`<${Group} value=${value} level=${level} />`;
}

/** An object or a list. */
function Group({ value, level }) {
  const [open, setOpen] = useState(level < OPEN_LEVELS);
  const [limit, setLimit] = useState(SHOWN_ENTRIES);
  const isList = Array.isArray(value);
  const entries = isList ? value.map((one) => [null, one]) : Object.entries(value);
  const [first, last] = isList ? "[]" : "{}";
  if (entries.length === 0) return html`<span>${first}${last}</span>`;
  const more = entries.length - limit;
  return html`<details open=${open} onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary>
      ${first}
      <span class="faint"> ${format.count(entries.length, isList ? "value" : "key")}</span>
    </summary>
    ${
      open &&
      html`<ul>
        ${entries.slice(0, limit).map(
          ([key, one], number) => html`<li key=${number}>
            ${key !== null && html`<span class="key">${key}</span>: `}
            <${Value} value=${one} level=${level + 1} />
          </li>`,
        )}
        ${
          more > 0 &&
          html`<li>
            <button type="button" class="link" onClick=${() => setLimit(Infinity)}>
              Show ${format.number(more)} more
            </button>
          </li>`
        }
      </ul>`
    }
    <span>${last}</span>
  </details>`;
}
