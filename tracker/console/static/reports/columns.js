/** The measures of reports as columns of a table. */

import { html } from "console/core/html";
import { Change } from "console/reports/card";
import { MEASURES, shownMeasures } from "console/reports/measures";
import { measureOfSort } from "console/reports/query";
import { comparedUntil, differenceText, othersText } from "console/reports/words";

/** Return the measures that a table has as columns: those chosen, else those that have something. */
export function columnsOf({ columns, sort }, totals = {}) {
  return columns?.length ? columns : shownMeasures(totals, totals.previous, measureOfSort(sort));
}

/** Return measures as columns. Beside the one that orders the rows is its change, if compared. */
export function measureColumns(measures, sort, data) {
  const wanted = measureOfSort(sort);
  // Rows in the order of a difference show it, not its fraction alone.
  const isByChange = /^-?change\./.test(sort);
  const ordered = measures.includes(wanted) ? wanted : measures[0];
  return measures.flatMap((key) => {
    const [label, write] = MEASURES[key];
    const sorts = (name) => ({ descending: `-${name}`, ascending: name });
    const column = {
      label,
      numeric: true,
      sort: sorts(key),
      cell: (row) => !row.page && `${write(row[key])} ${othersText(key, row)}`,
    };
    const change = {
      label: "Change",
      numeric: true,
      sort: sorts(`change.${key}`),
      cell: (row) =>
        row.previous &&
        html`
          ${isByChange && differenceText(write, row[key], row.previous[key])}
          <${Change}
            measure=${key}
            now=${row}
            before=${row.previous}
            until=${comparedUntil(data)}
          />
        `,
    };
    return key === ordered && data?.previousDateRange ? [column, change] : [column];
  });
}
