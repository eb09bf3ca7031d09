/** Words that networks use, as text fields of a form: for parameters, and for a status. */

import { useState } from "preact/hooks";
import { TextField } from "console/core/fields";
import { html } from "console/core/html";

/** Each parameter with examples of its other names. */
export const PARAMETERS = [
  ["click_id", "cid, subid"],
  ["transaction_id", "tid"],
  ["value", "payout"],
  ["status", "lead_status"],
  ["currency", "cur"],
  ["occurred_at", "time"],
  ["consent", "gdpr_consent"],
];

/** Each meaning of a status with examples of words, and what it says of the conversion. */
export const MEANINGS = [
  ["approved", "1, dep"],
  ["pending", "2, hold"],
  ["rejected", "3"],
  ["refunded", "return"],
  ["count", "upsell"],
];

/** Return a meaning in words. */
export function meaningWord(meaning) {
  return meaning === "count" ? "one more conversion" : meaning;
}

/** Return the text of each field: the names that stand for it, separated by commas. */
export function namesIn(aliases = {}, fields = PARAMETERS) {
  return Object.fromEntries(
    fields.map(([field]) => [
      field,
      Object.keys(aliases)
        .filter((name) => aliases[name] === field)
        .join(", "),
    ]),
  );
}

/** Return what each name in the fields stands for. Throws an Error if one is in two of them. */
export function aliasesFrom(names, noun = "parameter") {
  const aliases = new Map();
  for (const [field, text] of Object.entries(names)) {
    for (const name of text
      .split(",")
      .map((one) => one.trim())
      .filter(Boolean)) {
      if ((aliases.get(name) ?? field) !== field)
        throw new Error(`“${name}” can stand for one ${noun} only.`);
      aliases.set(name, field);
    }
  }
  return Object.fromEntries(aliases);
}

/** The fields, closed until they are opened or have names. `label` gets the field. */
export function NameFields({ summary, hint, fields, label, names, onInput }) {
  const set = (field) => (text) => onInput({ ...names, [field]: text });
  // Open at first if it has something; then it is the person's choice.
  const [isOpen] = useState(Object.values(names).some(Boolean));
  return html`<details class="aliases" open=${isOpen}>
    <summary>${summary}</summary>
    <p class="hint">${hint} Separate them by commas.</p>
    ${fields.map(
      ([field, example]) => html`
        <${TextField}
          label=${label(field)}
          name=${field}
          placeholder=${example}
          value=${names[field]}
          onInput=${set(field)}
        />
      `,
    )}
  </details>`;
}
