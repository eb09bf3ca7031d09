/** Fields of forms. */

import { useId, useState } from "preact/hooks";
import { ApiError } from "console/core/api";
import { html } from "console/core/html";
import { Choice } from "console/core/parts";

/**
 * A labelled field: its child is a function that gets {id, "aria-describedby", "aria-invalid"}.
 *
 * `error` is text, or an ApiError, which is shown here only if it names the field `name`.
 */
export function Field({ label, hint, error, name, children }) {
  const id = useId();
  const text = error instanceof ApiError ? (error.field === name ? error.rule : "") : error;
  const about = [hint && `${id}-hint`, text && `${id}-error`].filter(Boolean).join(" ");
  return html`<div class="field ${text ? "invalid" : ""}">
    <label for=${id}>${label}</label>
    ${children({
      id,
      "aria-describedby": about || undefined,
      "aria-invalid": text ? "true" : undefined,
    })}
    ${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}
    ${text && html`<p class="error" id="${id}-error">${text}</p>`}
  </div>`;
}

/** A field of text. `onInput` gets the text. Other properties go to the input. */
export function TextField({ label, hint, error, name, value, onInput, rows, prefix, ...others }) {
  return html`<${Field} ...${{ label, hint, error, name }}>${(given) => {
    const common = {
      ...given,
      name,
      value,
      onInput: (event) => onInput(event.target.value),
      ...others,
    };
    if (rows) return html`<textarea rows=${rows} ...${common} />`;
    const input = html`<input type="text" autocomplete="off" ...${common} />`;
    return prefix ? html`<div class="prefixed"><span>${prefix}</span>${input}</div>` : input;
  }}<//>`;
}

/** A choice with its label above. */
export function Select({ label, hint, error, name, ...others }) {
  return html`<${Field} ...${{ label, hint, error, name }}>
    ${(given) => html`<${Choice} ...${{ ...given, name, ...others }} />`}
  <//>`;
}

/** A box to tick. `onInput` gets true or false. */
export function Checkbox({ label, hint, checked, onInput, hideLabel, ...others }) {
  const id = useId();
  return html`<div class="checkbox">
    <input
      id=${id}
      type="checkbox"
      checked=${checked}
      aria-describedby=${hint ? `${id}-hint` : undefined}
      onChange=${(event) => onInput(event.target.checked)}
      ...${others}
    />
    <label for=${id} class=${hideLabel ? "visually-hidden" : ""}>${label}</label>
    ${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}
  </div>`;
}

/** Keep the fields of a form: `set("name")` is the handler of the field `name`. */
export function useFields(initial) {
  const [fields, setFields] = useState(initial);
  const set = (name) => (value) => setFields((old) => ({ ...old, [name]: value }));
  return { fields, set };
}

/**
 * The fields of a form, from a `list` of their properties, each with its `name`: a text field, a
 * choice if it has `options`, a box if it is a `checkbox`. False entries are left out.
 */
export function FormFields({ list, fields, set, error }) {
  return list.filter(Boolean).map(({ checkbox, ...field }) => {
    const given = { ...field, key: field.name, onInput: set(field.name) };
    const value = fields[field.name];
    if (checkbox) return html`<${Checkbox} ...${given} checked=${value} />`;
    return html`<${field.options ? Select : TextField} ...${{ ...given, error, value }} />`;
  });
}

/** The field of a second factor's code. */
export const CODE_FIELD = {
  name: "code",
  label: "Code",
  hint: "From your authenticator, or a recovery code",
  autocomplete: "one-time-code",
  required: true,
};

/** Return the names of a form's fields, for the note about errors that none of them shows. */
export function namesOf(list) {
  return list.filter(Boolean).map(({ name }) => name);
}

/** A switch: what it says holds at once, without a button to save. `onInput` gets true or false. */
export function Switch({ label, hint, checked, onInput, ...others }) {
  return html`<div class="switch">
    <${Checkbox} ...${{ label, hint, checked, onInput }} role="switch" ...${others} />
  </div>`;
}
