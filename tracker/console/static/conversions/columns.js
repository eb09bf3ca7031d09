/** The columns of lists of conversions. */

import { format } from "console/core/format";
import { html } from "console/core/html";
import { Badge, Time } from "console/core/parts";
import { ConversionState, ConversionStatus } from "console/conversions/states";

export const COLUMNS = [
  {
    label: "When",
    wide: true,
    cell: (row) =>
      html`<span class="main-cell">
        <a href="/console/conversions/${row.event_id}"><${Time} at=${row.at} exact /></a>
        <span>${row.event_config?.name ?? "no event configuration"}</span>
      </span>`,
  },
  { label: "Status", cell: (row) => html`<${ConversionStatus} conversion=${row} />` },
  {
    label: "State",
    cell: (row) =>
      html`<${ConversionState} conversion=${row} />
        ${
          row.warnings.length > 0 &&
          html`<span title=${row.warnings.join("\n")}><${Badge} kind="warning">warning<//></span>`
        }
        ${row.repeats > 0 && html`<span class="hint">sent ${row.repeats + 1} times</span>`}`,
  },
  {
    label: "Link",
    cell: ({ link }) =>
      link
        ? html`<a href="/console/links/${link.id}">${link.internal_name}</a>`
        : html`<span class="faint">–</span>`,
  },
  { label: "Value", numeric: true, cell: ({ value }) => format.money(value) },
  { label: "Payout", numeric: true, cell: ({ payout }) => format.money(payout) },
  { label: "Country", cell: ({ country }) => country ?? html`<span class="faint">–</span>` },
  {
    label: "Transaction",
    cell: (row) =>
      html`<span class="mono truncate transaction">${row.transaction_id ?? "–"}</span>`,
  },
];

/** The number of its deliveries, by state. */
export const DELIVERIES = {
  label: "Deliveries",
  cell: ({ deliveries }) =>
    Object.entries(deliveries ?? {})
      .filter(([, number]) => number > 0)
      .map(([state, number]) => `${number} ${state}`)
      .join(", ") || "–",
};
