/** What the visitors of a link did next: the links that they came to with its click id. */

import { api, owned } from "console/core/api";
import { format } from "console/core/format";
import { useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { Table } from "console/core/lists";
import { route } from "console/core/route";
import { today } from "console/core/session";
import { queryText } from "console/core/url";
import { readReport } from "console/reports/query";

const LINKS = 20;

/** The links that one led to, in the days of its report. */
export function LedTo({ link }) {
  const { query } = route.value;
  const { days } = readReport(query, { today: today(), dimensions: [] });
  const body = owned({
    dateRange: days,
    groupBy: "link",
    filters: { parent_link: [link.id] },
    pageSize: LINKS,
  });
  const report = useLoad(
    (signal) => api.post("/api/reports", body, { signal }),
    [JSON.stringify(body)],
  );
  const { from, to, period } = query;
  const more = queryText({ from, to, period, parent_link: link.id });
  const number = (label, cell) => ({ label, cell, numeric: true });
  return html`<section class="stack">
    <header class="row between">
      <h2>What it led to</h2>
      <a href="/console/overview${more}">Their report</a>
    </header>
    <${Table}
      caption="Links that it led to"
      load=${report}
      rowKey=${({ key }) => key}
      columns=${[
        {
          label: "Link",
          wide: true,
          cell: ({ key, name }) => html`<a href="/console/links/${key}">${name}</a>`,
        },
        number("Clicks", ({ clicks }) => format.number(clicks)),
        number("Conversions", ({ conversions }) => format.number(conversions)),
        number("Revenue", ({ value }) => format.money(value)),
      ]}
      empty=${html`<p class="about">No click of these days.</p>`}
    />
  </section>`;
}
