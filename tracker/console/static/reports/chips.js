/** The filters of a report, as chips. */

import { useState } from "preact/hooks";
import { html } from "console/core/html";
import { Button, Tag } from "console/core/parts";
import { setQuery } from "console/core/route";
import { filterText } from "console/reports/dimensions";

/** Those that are set, each with the way to remove it. */
export function Chips({ report, names, onAdd, children }) {
  const label = (name, key) => names.get(`${name} ${key}`) ?? key;
  return html`<div class="filters chips">
    ${Object.entries(report.filters).map(([name, values]) => {
      const labels = values.map((key) => label(name, key));
      return html`<${Tag}
        key=${name}
        onRemove=${() => setQuery({ [name]: null }, { replace: false })}
      >
        ${filterText(name, labels, report.tagOperator)}
      <//>`;
    })}
    ${
      report.tests &&
      html`<${Tag} onRemove=${() => setQuery({ tests: null }, { replace: false })}>
        Only tests
      <//>`
    }
    <${Button} icon="filter" onClick=${onAdd}>Filter<//>
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
