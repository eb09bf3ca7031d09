/** A condition of a rule in its editor: a kind, whether it is turned round, and values. */

import { useState } from "preact/hooks";
import { WEEKDAYS } from "console/core/dates";
import { FormFields } from "console/core/fields";
import { html } from "console/core/html";
import { Button, Choice } from "console/core/parts";
import { session } from "console/core/session";
import { stripped } from "console/links/invisible";
import { KINDS, kindOf } from "console/rules/words";
import { Boxes } from "console/webhooks/filter";

/** Return a condition of a kind without values. */
export function newCondition(kind) {
  const time = { zone: session.value.account.time_zone };
  return { [kind]: { query: { key: "" }, time }[kind] ?? [] };
}

/** The condition. `error` says what is wrong with it. */
export function Condition({ condition, number, error, onChange, onRemove }) {
  const kind = kindOf(condition);
  const { label, hint, choices } = KINDS[kind];
  const value = condition[kind];
  const Field = { query: Query, time: Time }[kind] ?? Values;
  const name = `condition ${number + 1}`;
  return html`<fieldset class="condition" data-condition=${number}>
    <legend class="visually-hidden">Condition ${number + 1}</legend>
    <${Choice}
      label="Kind of ${name}"
      value=${kind}
      options=${Object.entries(KINDS).map(([one, { label: text }]) => [one, text])}
      onInput=${(one) => onChange(newCondition(one))}
    />
    <${Choice}
      label="Holds if it"
      value=${condition.not ? "is not" : "is"}
      options=${["is", "is not"].map((one) => [one, one])}
      onInput=${(one) => onChange({ [kind]: value, ...(one !== "is" && { not: true }) })}
    />
    <div class="stack close">
      <${Field}
        ...${{ label, hint, choices, value }}
        onChange=${(changed) => onChange({ ...condition, [kind]: changed })}
      />
      ${error && html`<p class="error">${error}</p>`}
    </div>
    <${Button} kind="quiet" icon="close" label="Remove ${name}" onClick=${onRemove} />
  </fieldset>`;
}

/** Values, one a line, or with commas between them. `choices` can be added by name. */
function Values({ label, hint, choices, value, onChange, separator = /[\n,]/ }) {
  const [text, setText] = useState("");
  const shown = value.join("\n");
  const read = (typed) => typed.split(separator).map(stripped).filter(Boolean);
  const type = ({ target }) => {
    setText(target.value);
    onChange(read(target.value));
  };
  return html`
    <textarea
      rows="1"
      aria-label=${label}
      placeholder=${hint ?? "One a line"}
      value=${read(text).join("\n") === shown ? text : shown}
      onInput=${type}
    />
    ${
      choices &&
      html`<${Choice}
        label="Add to ${label}"
        value=""
        options=${["", ...choices].map((one) => [one, one || "Add…"])}
        onInput=${(one) => onChange([...new Set([...value, one])])}
      />`
    }
  `;
}

/** Return the function that sets a field of `value`; what is empty is left out. */
function setter(value, onChange) {
  return (name) => (given) => {
    const { [name]: _, ...others } = value;
    onChange({ ...others, ...(given.length && { [name]: given }) });
  };
}

function Query({ value, onChange }) {
  return html`
    <input
      type="text"
      aria-label="Parameter"
      placeholder="src"
      value=${value.key}
      onInput=${({ target }) => onChange({ ...value, key: target.value })}
    />
    <${Values}
      label="Values"
      hint="Any value, or one a line"
      separator="\n"
      value=${value.values ?? []}
      onChange=${setter(value, onChange)("values")}
    />
  `;
}

const TIMES = [
  { name: "from", label: "From", placeholder: "09:00, or 2026-12-24T18:00" },
  { name: "to", label: "Until", placeholder: "17:00" },
  { name: "zone", label: "Time zone" },
];

function Time({ value, onChange }) {
  const set = setter(value, onChange);
  const number = (text) => (/^\d+$/.test(text) ? Number(text) : text);
  return html`
    <${Boxes}
      legend="On"
      rows=${WEEKDAYS.map(({ short }, index) => ({ id: index + 1, name: short }))}
      selected=${value.weekdays ?? []}
      onChange=${(days) => set("weekdays")(days.sort())}
    />
    <div class="time-fields"><${FormFields} list=${TIMES} fields=${value} set=${set} /></div>
    <${Values}
      label="Hours"
      hint="Any hour, or 0 to 23"
      value=${value.hours ?? []}
      onChange=${(hours) => set("hours")(hours.map(number))}
    />
  `;
}
