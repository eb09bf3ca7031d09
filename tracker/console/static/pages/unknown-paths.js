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
import { SLUG } from "console/links/fields";

const LinkDialog = lazy("console/links/form", "LinkDialog");
const BACK = { href: "/console/domains", label: "Domains" };

/** The page. */
export default function UnknownPaths({ params: { id } }) {
  const { page } = route.value.query;
  const path = `/api/domains/${id}/unknown-paths`;
  const load = useLoad((signal) => api.get(path, { page }, signal), [path, page]);
  const [start, setStart] = useState(null);
  const lost = load.data?.did_not_fit;
  const action = (row) =>
    can("links:write") &&
    html`<${Button} onClick=${() => setStart({ domain_id: id, ...named(row.path) })}>
      Create a link for it
    <//>`;
  const columns = [...COLUMNS, { label: "Actions", actions: true, cell: action }];
  const empty = html`<${Empty} title="Every path had a link" />`;
  const about = "What visitors and bots asked for in 30 days and no link has, the last first.";
  return html`
    <${PageHeader} title="Unknown paths" about=${about} back=${BACK} />
    <${Table}
      caption="Unknown paths"
      rowKey=${(row) => row.path}
      ...${{ load, columns, empty }}
    />
    <${Pagination} pagination=${load.data?.pagination} noun="path" />
    ${lost > 0 && html`<p class="about">${format.count(lost, "more request")} did not fit.</p>`}
    ${
      start &&
      html`<${LinkDialog} start=${start} onClose=${() => setStart(null)} onDone=${load.reload} />`
    }
  `;
}

/** Return a path as the slug of a new link, or as its further path. */
function named(path) {
  return SLUG.test(path) ? { slug: path } : { paths: path };
}

const COLUMNS = [
  { label: "Path", wide: true, cell: (row) => html`<code>${row.host}/${row.path}</code>` },
  { label: "Asked", numeric: true, cell: (row) => format.number(row.count) },
  { label: "First", cell: (row) => html`<${Time} at=${row.first_at} />` },
  { label: "Last", cell: (row) => html`<${Time} at=${row.last_at} />` },
  { label: "Last referrer", cell: (row) => row.referrer ?? html`<span class="faint">–</span>` },
];
