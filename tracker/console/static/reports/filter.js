/** The choice of a filter: a dimension, and the values of it that a search finds. */

import { useState } from "preact/hooks";
import { api } from "console/core/api";
import { Checkbox, Select, Switch, TextField } from "console/core/fields";
import { format } from "console/core/format";
import { useLoad, useSettled } from "console/core/hooks";
import { html } from "console/core/html";
import { Button, Choice, ErrorNote, Skeleton } from "console/core/parts";
import { setQuery } from "console/core/route";
import { Dialog } from "console/parts/dialog";
import { operatorsFor, titlesOf } from "console/reports/dimensions";
import { MEASURES } from "console/reports/measures";
import { filterQuery, havingText, operatorsOf } from "console/reports/query";

const MOST = 100;
const BOUNDS = [
  ["min", "at least"],
  ["max", "at most"],
];

/**
 * The dialog, at first for `dimension`. `report` is what the page shows; `names` gets the names of
 * what is chosen.
 */
export function FilterDialog({ report, names, dimensions, dimension: first, onClose }) {
  const [dimension, setDimension] = useState(
    first ?? (dimensions.includes("country") ? "country" : dimensions[0]),
  );
  const [chosen, setChosen] = useState(report.filters);
  const [operator, setOperator] = useState(operatorSet(report.filters[dimension]));
  const [having, setHaving] = useState(report.having);
  const [every, setEvery] = useState(report.tagOperator === "AND");
  const [text, setText] = useState("");
  const search = useSettled(text);
  const { from, to } = report.days;
  const found = useLoad(
    (signal) => api.get("/api/reports/values", { dimension, search, from, to, limit: 25 }, signal),
    [dimension, search, from, to],
  );
  const filter = operatorsOf(chosen[dimension]);
  const values = filter[operator] ?? [];
  const setValues = (list) =>
    setChosen({ ...chosen, [dimension]: { ...filter, [operator]: list } });
  const toggle =
    ({ key, name }) =>
    (on) => {
      names.set(`${dimension} ${key}`, name);
      setValues(on ? [...values, key] : values.filter((one) => one !== key));
    };
  const apply = () => {
    const changes = dimensions.map((name) => filterQuery(name, chosen[name]));
    const areAll = every && operatorsOf(chosen.tag).is?.length > 1;
    setQuery(
      Object.assign({}, ...changes, {
        tagOperator: areAll ? "AND" : null,
        having: havingText(having) || null,
      }),
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
  const texts = html`<${TextField}
    label="Texts, each on its line"
    hint="In any case. It passes by any of them"
    rows="3"
    value=${values.join("\n")}
    onInput=${(lines) => setValues(lines.split("\n"))}
    data-focus
  />`;
  const list = html`
    <${TextField} label="Search" type="search" value=${text} onInput=${setText} data-focus />
    ${
      dimension === "tag" &&
      operator === "is" &&
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
  `;
  return html`<${Dialog}
    title="Filter"
    about="A click passes if it passes every filter. What has no value passes “is not”."
    ...${{ footer, onClose }}
    onSubmit=${apply}
  >
    <${Select}
      label="By"
      value=${dimension}
      options=${dimensions.map((name) => [name, titlesOf(name)[0]])}
      onInput=${(name) => {
        setDimension(name);
        setOperator(operatorSet(chosen[name]));
        setText("");
      }}
    />
    <${Select}
      label="Passes if it"
      value=${operator}
      options=${operatorsFor(dimension).map(([name, , words]) => [name, words])}
      onInput=${setOperator}
    />
    ${operator.startsWith("contains") ? texts : list}
    <${Having} ...${{ having, setHaving }} />
  <//>`;
}

/** Return the first operator that a filter has. */
const operatorSet = (filter) => Object.keys(operatorsOf(filter))[0] ?? "is";

/** A condition on a measure of rows. Others stay as they are. */
function Having({ having, setHaving }) {
  const [measure, setMeasure] = useState(Object.keys(having)[0] ?? "clicks");
  const [bound, setBound] = useState(having[measure]?.max === undefined ? "min" : "max");
  const setNumber = ({ target }) =>
    setHaving({
      ...having,
      [measure]: { ...having[measure], [bound]: target.value ? Number(target.value) : undefined },
    });
  return html`<fieldset>
    <legend>Only rows with</legend>
    <div class="row">
      <${Choice}
        label="Measure"
        value=${measure}
        options=${Object.entries(MEASURES).map(([name, [label]]) => [name, label])}
        onInput=${setMeasure}
      />
      <${Choice} label="Bound" value=${bound} options=${BOUNDS} onInput=${setBound} />
      <input
        type="number"
        step="any"
        aria-label="Number"
        class="least"
        value=${having[measure]?.[bound] ?? ""}
        onInput=${setNumber}
      />
    </div>
  </fieldset>`;
}
