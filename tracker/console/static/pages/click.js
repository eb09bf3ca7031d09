/** One click: what it brought, and what became of it. */

import { api } from "console/core/api";
import { useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { Table } from "console/core/lists";
import { Badge, ErrorNote, PageHeader, Skeleton, Time } from "console/core/parts";
import { Click } from "console/conversions/click";
import { COLUMNS, DELIVERIES } from "console/conversions/columns";
import { FoundNote } from "console/conversions/find";

const BACK = { href: "/console/conversions", label: "Conversions" };

/** The page. */
export default function ClickPage({ params: { id } }) {
  const { data, error, reload } = useLoad(
    (signal) => api.get("/api/find", { q: id }, signal),
    [id],
  );
  const click = data?.click;
  const shown = { click, click_id: id, link: click?.link, parameters: click?.parameters };
  return html`
    <${PageHeader} title="Click" back=${BACK} />
    <${ErrorNote} error=${error} retry=${reload} />
    ${!data && !error && html`<div class="card"><${Skeleton} lines=${6} /></div>`}
    ${
      data &&
      html`
        <${Click} conversion=${shown} />
        <${FoundNote} found=${{ refused: data.refused }} text=${id} />
        <${Way} found=${data} />
        <h2>Conversions</h2>
        <${Table}
          caption="Conversions"
          load=${{ data: { rows: data.conversions } }}
          rowKey=${(row) => row.event_id}
          columns=${[...COLUMNS, DELIVERIES]}
          empty=${html`<p class="about">None.</p>`}
        />
      `
    }
  `;
}

/** The clicks of the same visitor before and after it, as far as they brought along each other's id. */
function Way({ found: { click, earlier, later } }) {
  if (!earlier.length && !later.length) return null;
  return html`
    <h2>The way</h2>
    <${Table}
      caption="The way"
      load=${{ data: { rows: [...earlier, click, ...later] } }}
      rowKey=${({ id }) => id}
      columns=${[
        {
          label: "When",
          wide: true,
          cell: ({ id, at }) =>
            id === click.id
              ? html`<${Time} at=${at} exact /> <${Badge} kind="accent">this click<//>`
              : html`<a href="/console/clicks/${id}"><${Time} at=${at} exact /></a>`,
        },
        {
          label: "Link",
          cell: ({ link }) =>
            link && html`<a href="/console/links/${link.id}">${link.internal_name}</a>`,
        },
        {
          label: "Conversions",
          numeric: true,
          cell: ({ conversions }) => conversions || html`<span class="faint">–</span>`,
        },
      ]}
    />
  `;
}
