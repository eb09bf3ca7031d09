/**
 * A webhook's own headers: the rows of its form, and the request that they belong to. Stored values
 * are never here.
 */

import { useId } from "preact/hooks";
import { html } from "console/core/html";
import { Button } from "console/core/parts";

/** Return the rows for a webhook: its names, whose values are kept until others are typed. */
export function headerRows(webhook) {
  return Object.keys(webhook?.headers ?? {}).map((name) => ({ name, value: "", stored: true }));
}

/** Return the headers to send: null keeps a stored value, rows without a name are left out. */
export function sentHeaders(rows) {
  return Object.fromEntries(
    rows
      .filter(({ name }) => name.trim())
      .map(({ name, value, stored }) => [name.trim(), stored && !value ? null : value]),
  );
}

/** Return a request as people write one down. A header without a value has its stored one. */
export function requestText(method, url, headers) {
  return [
    `${method} ${url}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value ?? "…"}`),
  ].join("\n");
}

/** The rows, each with a name and a value. `onChange` gets the new rows. */
export function HeadersEditor({ rows, onChange }) {
  const change = (at, changes) =>
    onChange(rows.map((row, number) => (number === at ? { ...row, ...changes } : row)));
  return html`<fieldset class="headers">
    <legend>Headers</legend>
    <p class="hint">
      Sent with every request, such as Authorization. Values may have macros, and are not shown
      again.
    </p>
    ${rows.map(
      (row, at) => html`<${HeaderRow}
        key=${at}
        ...${{ row, at }}
        onInput=${(changes) => change(at, changes)}
        onRemove=${() => onChange(rows.filter((_, number) => number !== at))}
      />`,
    )}
    <div>
      <${Button}
        icon="plus"
        onClick=${() => onChange([...rows, { name: "", value: "", stored: false }])}
      >
        Add a header
      <//>
    </div>
  </fieldset>`;
}

function HeaderRow({ row, at, onInput, onRemove }) {
  const id = useId();
  const { name, value, stored } = row;
  return html`<div class="header-row">
    <label class="visually-hidden" for="${id}-name">Name of header ${at + 1}</label>
    <input
      id="${id}-name"
      type="text"
      class="mono"
      autocomplete="off"
      spellcheck=${false}
      placeholder="X-Api-Key"
      value=${name}
      readonly=${stored}
      onInput=${(event) => onInput({ name: event.target.value })}
    />
    <label class="visually-hidden" for="${id}-value">Value of header ${at + 1}</label>
    <input
      id="${id}-value"
      type="text"
      class="mono"
      autocomplete="off"
      spellcheck=${false}
      placeholder=${stored ? "unchanged" : "Bearer … or {click_id}"}
      value=${value}
      onInput=${(event) => onInput({ value: event.target.value })}
    />
    <${Button}
      kind="quiet"
      icon="trash"
      label="Remove header ${name || at + 1}"
      onClick=${onRemove}
    />
  </div>`;
}
