/** Imports: all of them, and the way to a new one. */

import { useState } from "preact/hooks";
import { api } from "console/core/api";
import { format } from "console/core/format";
import { useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { Pagination, Table } from "console/core/lists";
import { Badge, Button, Empty, PageHeader, Time, lazy } from "console/core/parts";
import { route } from "console/core/route";
import { can } from "console/core/session";

const NewDialog = lazy("console/imports/new", "NewDialog");
const BACK = { href: "/console/links", label: "Links" };

/** The page. */
export default function Imports() {
  const { page } = route.value.query;
  const imports = useLoad((signal) => api.get("/api/imports", { page }, signal), [page]);
  const [open, setOpen] = useState(false);
  const from = ({ id, source_label: source, instance }) =>
    html`<a href="/console/imports/${id}">${source} ${instance}</a>`;
  const columns = [
    { label: "From", wide: true, cell: from },
    { label: "State", cell: ({ state }) => html`<${Badge}>${state}<//>` },
    { label: "Rows", numeric: true, cell: ({ total }) => format.number(total ?? 0) },
    { label: "Created", cell: (one) => html`<${Time} at=${one.created_at} />` },
  ];
  const button =
    can("links:write") &&
    html`<${Button} kind="main" icon="plus" onClick=${() => setOpen(true)}>New import<//>`;
  const empty = html`<${Empty} title="No imports yet">
    <p>Add and prove your domain first: its printed links then go on working here.</p>
  <//>`;
  return html`
    <${PageHeader} title="Imports" about="Links from other services, or any CSV." back=${BACK}>
      ${button}
    <//>
    <${Table} caption="Imports" load=${imports} ...${{ columns, empty }} />
    <${Pagination} pagination=${imports.data?.pagination} noun="import" />
    ${open && html`<${NewDialog} onClose=${() => setOpen(false)} />`}
  `;
}
