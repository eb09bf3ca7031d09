/** Unknown paths of a domain: what visitors asked for and no link has. */

import { useState } from "preact/hooks";
import { api } from "console/core/api";
import { format } from "console/core/format";
import { useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { Pagination, Table } from "console/core/lists";
import { Button, Empty, PageHeader, Time, lazy } from "console/core/parts";
import { route } from "console/core/route";
import { can } from "console/core/session";

const LinkDialog = lazy("console/links/form", "LinkDialog");
const BACK = { href: "/console/domains", label: "Domains" };

/** The page. */
export default function UnknownPaths({ params: { id } }) {
  const { page } = route.value.query;
  const path = `/api/domains/${id}/unknown-paths`;
  const asked = useLoad((signal) => api.get(path, { page }, signal), [path, page]);
  const [lost, setLost] = useState(null);
  const unlisted = asked.data?.did_not_fit;
  const columns = [
    ...COLUMNS,
    can("links:write") && {
      label: "Actions",
      actions: true,
      cell: (row) => html`<${Button} onClick=${() => setLost(row.path)}>Create a link for it<//>`,
    },
  ].filter(Boolean);
  const empty = html`<${Empty} title="Every path had a link">
    <p>What visitors ask for and no link has is listed here for 30 days.</p>
  <//>`;
  return html`
    <${PageHeader}
      title="Unknown paths"
      about="What visitors and bots asked for and no link has: the last 1,000 paths of 30 days."
      back=${BACK}
    />
    <${Table}
      caption="Unknown paths"
      load=${asked}
      rowKey=${(row) => row.path}
      ...${{ columns, empty }}
    />
    <${Pagination} pagination=${asked.data?.pagination} noun="path" />
    ${unlisted > 0 && html`<p class="about">${format.count(unlisted, "request")} did not fit.</p>`}
    ${
      lost !== null &&
      html`<${LinkDialog}
        start=${{ domain_id: id, slug: lost }}
        onClose=${() => setLost(null)}
        onDone=${asked.reload}
      />`
    }
  `;
}

const COLUMNS = [
  { label: "Path", wide: true, cell: (row) => html`<code>${row.host}/${row.path}</code>` },
  { label: "Asked", numeric: true, cell: (row) => format.number(row.count) },
  { label: "Last", cell: (row) => html`<${Time} at=${row.last_at} />` },
  { label: "First", cell: (row) => html`<${Time} at=${row.first_at} />` },
  { label: "Last referrer", cell: (row) => row.referrer ?? html`<span class="faint">–</span>` },
];
