/** The choice of a filter: a dimension, and the values of it that a search finds. */

import { useState } from "preact/hooks";
import { api } from "console/core/api";
import { Checkbox, Select, Switch, TextField } from "console/core/fields";
import { format } from "console/core/format";
import { useLoad, useSettled } from "console/core/hooks";
import { html } from "console/core/html";
import { Button, ErrorNote, Skeleton } from "console/core/parts";
import { setQuery } from "console/core/route";
import { joinValues } from "console/core/url";
import { Dialog } from "console/parts/dialog";
import { titlesOf } from "console/reports/dimensions";

const MOST = 100;

/** The dialog. `report` is what the page shows; `names` gets the names of what is chosen. */
export function FilterDialog({ report, names, dimensions, onClose }) {
  const [dimension, setDimension] = useState(
    dimensions.includes("country") ? "country" : dimensions[0],
  );
  const [chosen, setChosen] = useState(report.filters);
  const [every, setEvery] = useState(report.tagOperator === "AND");
  const [text, setText] = useState("");
  const search = useSettled(text);
  const { from, to } = report.days;
  const found = useLoad(
    (signal) => api.get("/api/reports/values", { dimension, search, from, to, limit: 25 }, signal),
    [dimension, search, from, to],
  );
  const values = chosen[dimension] ?? [];
  const toggle =
    ({ key, name }) =>
    (on) => {
      names.set(`${dimension} ${key}`, name);
      setChosen({
        ...chosen,
        [dimension]: on ? [...values, key] : values.filter((one) => one !== key),
      });
    };
  const apply = () => {
    const changes = Object.fromEntries(
      dimensions.map((name) => [name, joinValues(chosen[name] ?? [])]),
    );
    setQuery(
      { ...changes, tagOperator: every && chosen.tag?.length > 1 ? "AND" : null },
      { replace: false },
    );
    onClose();
  };
  const rows = found.data?.rows;
  const unseen = values.filter((key) => !rows?.some((row) => row.key === key));
  const footer = html`
    <${Button} onClick=${onClose}>Cancel<//>
    <${Button} kind="main" type="submit">Apply<//>
  `;
  return html`<${Dialog}
    title="Filter"
    about="A click passes if it has one of the values of every filter."
    ...${{ footer, onClose }}
    onSubmit=${apply}
  >
    <${Select}
      label="By"
      value=${dimension}
      options=${dimensions.map((name) => [name, titlesOf(name)[0]])}
      onInput=${(name) => {
        setDimension(name);
        setText("");
      }}
    />
    <${TextField} label="Search" type="search" value=${text} onInput=${setText} data-focus />
    ${
      dimension === "tag" &&
      html`<${Switch} label="Links with all of these tags" checked=${every} onInput=${setEvery} />`
    }
    <${ErrorNote} error=${found.error} retry=${found.reload} />
    <fieldset>
      <legend class="visually-hidden">Values</legend>
      <div class="values">
        ${unseen.map(
          (key) => html`<${Checkbox}
            key=${key}
            label=${names.get(`${dimension} ${key}`) ?? key}
            checked
            onInput=${toggle({ key, name: names.get(`${dimension} ${key}`) ?? key })}
          />`,
        )}
        ${rows?.map(
          (row) => html`<${Checkbox}
            key=${row.key}
            label=${row.name}
            hint=${format.count(row.clicks, "click")}
            checked=${values.includes(row.key)}
            disabled=${values.length >= MOST && !values.includes(row.key)}
            onInput=${toggle(row)}
          />`,
        )}
        ${!rows && !found.error && html`<${Skeleton} />`}
        ${rows?.length === 0 && html`<p class="about">Nothing is called that in this time.</p>`}
      </div>
    </fieldset>
  <//>`;
}
