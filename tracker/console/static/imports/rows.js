/** What becomes of the rows of an import, and how their paths answer here. */

import { api } from "console/core/api";
import { format } from "console/core/format";
import { useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { Pagination, Table } from "console/core/lists";
import { Badge, Button, CsvButton, ErrorNote } from "console/core/parts";
import { route, setQuery } from "console/core/route";

const OUTCOMES = {
  create: "new",
  lossy: "new, with losses",
  same: "as they are",
  update: "changed there",
  changed: "changed here since",
  conflict: "in conflict",
  refused: "refused",
  removed: "taken back",
  left: "left",
};

/** The last cut-over check, if one was begun. */
export function CutOver({ one, path }) {
  const load = useLoad((signal) => api.get(`${path}/cut-over-check`, {}, signal), [one]);
  const { data, error, reload } = load;
  if (error && error.status !== 404) return html`<${ErrorNote} error=${error} retry=${reload} />`;
  if (!data) return null;
  const show = () => setQuery({ outcome: "differing", page: null });
  return html`<section class="card">
    <h2>Cut-over</h2>
    <p>
      ${format.number(data.same)} of ${format.number(data.paths)} paths answer as before;${" "}
      ${format.number(data.differ)} differ. <${Button} onClick=${show}>Show what differs<//>
    </p>
    ${data.domains.map(
      ({ domain_name: name, verified, to_change: change }) => html`<p>
        ${name}: ${change ? `set ${change}` : "leads here"} ${
          !verified && html`<${Badge} kind="warning">not verified<//>`
        }
      </p>`,
    )}
  </section>`;
}

/** The rows, by outcome. */
export function Rows({ one, path }) {
  const { page, outcome = "" } = route.value.query;
  const query = outcome && { outcome };
  const keys = [page, outcome, one.state, one.position];
  const load = useLoad((signal) => api.get(path, { ...query, page }, signal), keys);
  const counted = Object.entries(OUTCOMES).filter(([name]) => one.counts[name]);
  const columns = [
    { label: "Row", numeric: true, cell: ({ row }) => row },
    { label: "Path", wide: true, cell: (row) => row.text || `${row.domain}/${row.path}` },
    { label: "Outcome", cell: (row) => OUTCOMES[row.outcome] },
    { label: "Why", cell: why },
    {
      label: "Destination",
      cell: (row) => (outcome === "differing" ? row.difference : row.destination_url),
    },
  ];
  return html`
    <div class="row" role="group" aria-label="Rows">
      ${[["", "All rows"], ...counted].map(
        ([name, text]) => html`<${Button}
          aria-pressed=${outcome === name}
          kind=${outcome === name ? "main" : "plain"}
          onClick=${() => setQuery({ outcome: name || null, page: null })}
        >
          ${name && format.number(one.counts[name])} ${text}
        <//>`,
      )}
      <${CsvButton} path=${path} query=${query} />
    </div>
    <${Table} caption="Rows" ...${{ columns, load }} rowKey=${({ row, path: of }) => row + of} />
    <${Pagination} pagination=${load.data?.pagination} noun="row" />
  `;
}

/** Return why a row has its outcome. Reasons of losses name their fields themselves. */
function why({ outcome, field, reason }) {
  return field && outcome !== "lossy" ? `${field}: ${reason}` : reason;
}
