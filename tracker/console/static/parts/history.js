/** What a change did: the fields, with their values before and after. */

import { html } from "console/core/html";

/** The fields of a change, as the audit log has them. */
export function Changes({ changes }) {
  const fields = Object.entries(changes ?? {});
  if (!fields.length) return null;
  return html`<dl class="changes">
    ${fields.map(
      ([name, { before, after }]) => html`<div>
        <dt>${name.replace(/_/g, " ")}</dt>
        <dd>${before !== null && html`<del>${shown(before)}</del> `}<ins>${shown(after)}</ins></dd>
      </div>`,
    )}
  </dl>`;
}

function shown(value) {
  if (value === null || value === "") return "nothing";
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "string" ? value : JSON.stringify(value);
}
