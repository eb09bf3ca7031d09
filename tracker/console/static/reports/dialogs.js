/** The dialogs of a page of reports: to filter, to share, and its views. */

import { html } from "console/core/html";
import { lazy } from "console/core/parts";
import { setQuery } from "console/core/route";
import { switched } from "console/reports/query";

const DIALOGS = {
  filter: lazy("console/reports/filter", "FilterDialog"),
  share: lazy("console/reports/share", "ShareDialog"),
  views: lazy("console/reports/views", "ViewsDialog"),
  details: lazy("console/reports/details", "DetailsDialog"),
};

/** The dialog that is open, of a `kind` and with what only it gets; none if `open` is null. */
export function ReportDialog({ open, ...props }) {
  if (!open) return null;
  const { kind, ...own } = open;
  return html`<${DIALOGS[kind]} ...${{ ...props, ...own }} />`;
}

/** Return the function that switches the value of a row in the filters of a report. */
export const filterBy =
  (report, names) =>
  (dimension, { key, name }) => {
    names.set(`${dimension} ${key}`, name);
    const values = switched(report.filters[dimension], key);
    setQuery({ [dimension]: values }, { replace: false, stay: true });
  };
