/** The filters of a report, as chips. */

import { useState } from "preact/hooks";
import { html } from "console/core/html";
import { Button, Tag } from "console/core/parts";
import { setQuery } from "console/core/route";
import { filterTexts } from "console/reports/dimensions";
import { MEASURES } from "console/reports/measures";

/** Those that are set, each with the way to change and to remove it. `onAdd` gets a dimension. */
export function Chips({ report, names, onAdd, children }) {
  const chips = Object.entries(report.filters).flatMap(([name, filter]) =>
    filterTexts(name, filter, report.tagOperator, (key) => names.get(`${name} ${key}`) ?? key).map(
      ([parameter, text]) => ({ parameter, text, onOpen: () => onAdd(name) }),
    ),
  );
  const having = havingWords(report.having);
  if (having) chips.push({ parameter: "having", text: having, onOpen: () => onAdd() });
  if (report.tests) chips.push({ parameter: "tests", text: "Only tests" });
  return html`<div class="filters chips">
    ${chips.map((chip) => html`<${Chip} key=${chip.parameter} ...${chip} />`)}
    <${Button} icon="filter" onClick=${() => onAdd()}>Filter<//>
    <span class="end row">${children}</span>
  </div>`;
}

/** Return the names of the values that are filtered by, by "dimension key". */
export function useNames(data) {
  const [names] = useState(() => new Map());
  for (const [dimension, found] of Object.entries(data?.filterNames ?? {})) {
    for (const [key, name] of Object.entries(found)) names.set(`${dimension} ${key}`, name);
  }
  return names;
}

function Chip({ parameter, text, onOpen }) {
  const onRemove = () => setQuery({ [parameter]: null }, { replace: false });
  return html`<${Tag} label=${text} ...${{ onRemove }}>
    ${onOpen ? html`<button type="button" class="link" onClick=${onOpen}>${text}</button>` : text}
  <//>`;
}

function havingWords(having) {
  const words = Object.entries(having).flatMap(([measure, { min, max }]) => [
    min !== undefined && `${MEASURES[measure][0].toLowerCase()} at least ${min}`,
    max !== undefined && `${MEASURES[measure][0].toLowerCase()} at most ${max}`,
  ]);
  return words.length > 0 && `Rows with ${words.filter(Boolean).join(" and ")}`;
}
