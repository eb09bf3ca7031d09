/** What the columns of a pasted spreadsheet are: a choice for each, guessed from its heading. */

import { Select } from "console/core/fields";
import { html } from "console/core/html";
import { TEXTS } from "console/links/fields";
import { OPTIONS } from "console/links/options";
import { UTM } from "console/links/utm";

const LABELS = [
  ["", "Not used"],
  ["destination_url", "Destination"],
  ["slug", "Short link"],
  ...[...TEXTS, ...OPTIONS].map(({ name, label }) => [name, label]),
  ["domain_name", "Domain"],
  ["tags", "Tags"],
  ["active", "Active"],
  ["archived", "Archived"],
  ...UTM.map(([name, label]) => [name, `UTM ${label.toLowerCase()}`]),
];

/** The choices. `columns` are {heading, name}; `chosen` are names by the number of the column. */
export function ColumnSelects({ columns, chosen, onChange }) {
  return html`<fieldset>
    <legend>Columns</legend>
    <div class="columns">
      ${columns.map(
        ({ heading, name }, index) => html`<${Select}
          key=${index}
          label=${heading}
          options=${LABELS}
          value=${name ?? ""}
          onInput=${(value) => onChange({ ...chosen, [index]: value })}
        />`,
      )}
    </div>
  </fieldset>`;
}
