/** The measures of reports as columns of a table. */

import { html } from "console/core/html";
import { Change } from "console/reports/card";
import { MEASURES } from "console/reports/measures";
import { comparedUntil, othersText } from "console/reports/words";

/** Return the measure by which, or by the change of which, rows are sorted. */
export function measureOfSort(sort = "") {
  return sort.replace(/^-?(change\.)?/, "");
}

/** Return measures as columns. Beside the one that orders the rows is its change, if compared. */
export function measureColumns(measures, sort, data) {
  const wanted = measureOfSort(sort);
  const ordered = measures.includes(wanted) ? wanted : measures[0];
  return measures.flatMap((key) => {
    const [label, write] = MEASURES[key];
    const sorts = (name) => ({ descending: `-${name}`, ascending: name });
    const column = {
      label,
      numeric: true,
      sort: sorts(key),
      cell: (row) => `${write(row[key])} ${othersText(key, row)}`,
    };
    const change = {
      label: "Change",
      numeric: true,
      sort: sorts(`change.${key}`),
      cell: (row) =>
        row.previous &&
        html`<${Change}
          measure=${key}
          now=${row}
          before=${row.previous}
          until=${comparedUntil(data)}
        />`,
    };
    return key === ordered && data?.previousDateRange ? [column, change] : [column];
  });
}
