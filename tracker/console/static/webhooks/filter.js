/** Of which conversions, clicks and links a webhook is told. */

import { useState } from "preact/hooks";
import { Checkbox, TextField } from "console/core/fields";
import { format } from "console/core/format";
import { useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { can } from "console/core/session";
import { loadAll } from "console/parts/all";

const NONE = {
  ...{ statuses: [], event_config_ids: [], tags: [], links: [] },
  ...{ min_value: null, sample: 1, bots: false },
};
const STATUSES = ["approved", "pending", "rejected", "refunded"];

/** Return the fields of a filter as the form keeps them, and as the API takes them. */
export const filterFields = ({ min_value: min, sample, ...others } = NONE) => ({
  ...others,
  min_value: min === null ? "" : String(min),
  sample: String(Number((100 * sample).toFixed(9))),
});
export const sentFilter = ({ min_value: min, sample, ...others }) => ({
  ...others,
  min_value: min === "" ? null : Number(min),
  sample: Number(sample) / 100,
});

/** Return a filter in words; empty if it has none. */
export function filterText({ statuses, event_config_ids: configs, tags, links, ...others }) {
  const { min_value: min, sample, bots } = others;
  return [
    ...statuses,
    configs.length && format.count(configs.length, "event configuration"),
    tags.length && format.count(tags.length, "tag"),
    links.length && format.count(links.length, "link"),
    min !== null && `from ${format.number(min)}`,
    sample < 1 && `${format.number(100 * sample)} % of clicks`,
    bots && "clicks of bots too",
  ]
    .filter(Boolean)
    .join(", ");
}

/** The filter in a form, closed unless it is used. */
export function FilterFields({ filter, onChange, error }) {
  const [open, setOpen] = useState(filterText(sentFilter(filter)) !== "");
  return html`<details open=${open} onToggle=${(event) => setOpen(event.target.open)}>
    <summary>Only some of it</summary>
    ${open && html`<${Choices} ...${{ filter, onChange, error }} />`}
  </details>`;
}

function Choices({ filter, onChange, error }) {
  const set = (name) => (value) => onChange({ ...filter, [name]: value });
  const boxes = (name) => ({ selected: filter[name], onChange: set(name) });
  const statuses = STATUSES.map((name) => ({ id: name, name }));
  const configs = useRows("/api/event-configs", "event_configs:read");
  const tags = useRows("/api/tags", "tags:read");
  return html`
    <${Boxes} legend="With the status" rows=${statuses} ...${boxes("statuses")} />
    <${Boxes} legend="Of the event" rows=${configs} ...${boxes("event_config_ids")} />
    <${Boxes} legend="Whose link has the tag" rows=${tags} ...${boxes("tags")} />
    <${TextField}
      label="Lowest value"
      name="filter.min_value"
      type="number"
      min="0"
      step="any"
      value=${filter.min_value}
      onInput=${set("min_value")}
      error=${error}
    />
    <${TextField}
      label="Share of clicks, in percent"
      name="filter.sample"
      type="number"
      max="100"
      step="any"
      value=${filter.sample}
      onInput=${set("sample")}
      error=${error}
    />
    <${Checkbox} label="Clicks of bots too" checked=${filter.bots} onInput=${set("bots")} />
  `;
}

function useRows(path, scope) {
  const load = (signal) => (can(scope) ? loadAll(path, signal) : Promise.resolve({ rows: [] }));
  return useLoad(load, []).data?.rows ?? [];
}

/** A set of boxes, one a row. `selected` are ids. */
export function Boxes({ legend, rows, selected, onChange }) {
  const toggle = (id) => (on) =>
    onChange(on ? [...selected, id] : selected.filter((one) => one !== id));
  if (!rows.length) return null;
  return html`<fieldset>
    <legend>${legend}</legend>
    <div class=${rows[0].hint ? "stack close" : "boxes"}>
      ${rows.map(
        ({ id, name, hint }) => html`<${Checkbox}
          key=${id}
          label=${name}
          hint=${hint}
          checked=${selected.includes(id)}
          onInput=${toggle(id)}
        />`,
      )}
    </div>
  </fieldset>`;
}
