/** The names that networks use for parameters of a conversion, as text fields of a form. */

import { useState } from "preact/hooks";
import { TextField } from "console/core/fields";
import { html } from "console/core/html";

const FIELDS = [
  ["click_id", "cid, subid"],
  ["transaction_id", "tid"],
  ["value", "payout"],
];

/** Return the text of each field, by parameter: its names, separated by commas. */
export function namesIn(aliases = {}) {
  return Object.fromEntries(
    FIELDS.map(([parameter]) => [
      parameter,
      Object.keys(aliases)
        .filter((name) => aliases[name] === parameter)
        .join(", "),
    ]),
  );
}

/** Return the aliases that the fields name. Throws an Error if one name is in two of them. */
export function aliasesFrom(names) {
  const aliases = new Map();
  for (const [parameter] of FIELDS) {
    for (const name of names[parameter]
      .split(",")
      .map((one) => one.trim())
      .filter(Boolean)) {
      if ((aliases.get(name) ?? parameter) !== parameter)
        throw new Error(`“${name}” can stand for one parameter only.`);
      aliases.set(name, parameter);
    }
  }
  return Object.fromEntries(aliases);
}

/** The fields, closed until they are opened or have names. */
export function ParameterAliases({ names, onInput }) {
  const set = (parameter) => (text) => onInput({ ...names, [parameter]: text });
  // Open at first if it has something; then it is the person's choice.
  const [isOpen] = useState(Object.values(names).some(Boolean));
  return html`<details class="aliases" open=${isOpen}>
    <summary>Names that your network uses</summary>
    <p class="hint">
      If it cannot send click_id, say what it sends instead. Separate names by commas.
    </p>
    ${FIELDS.map(
      ([parameter, example]) => html`
        <${TextField}
          label=${`Other names of ${parameter}`}
          name=${parameter}
          placeholder=${example}
          value=${names[parameter]}
          onInput=${set(parameter)}
        />
      `,
    )}
  </details>`;
}
