/** An upload of conversions, from its check to its refused rows. */

import { useEffect, useState } from "preact/hooks";
import { api, owned } from "console/core/api";
import { format } from "console/core/format";
import { useAction, useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { Pagination, Table } from "console/core/lists";
import { Badge, Button, CsvButton, ErrorNote, PageHeader, Skeleton } from "console/core/parts";
import { route } from "console/core/route";
import { can } from "console/core/session";
import { Columns } from "console/parts/file";

const BACK = { href: "/console/conversions/uploads", label: "Uploads" };
const WORKING = ["checking", "running"];
const CHECKABLE = ["checked", "failed", "cancelled"];
const POLL_MS = 1_000;
const FIELDS = [
  ["click_id", "click id"],
  ["transaction_id", "transaction id"],
  ["value", "payout or value"],
  ["status", "status"],
  ["type", "type"],
  ["currency", "currency"],
  ["occurred_at", "time"],
  ["pbk", "postback key"],
];
const COUNTS = { recorded: "new", restated: "restated", same: "as they are", refused: "refused" };
const REFUSED = [
  { label: "Line", numeric: true, cell: ({ line }) => line },
  { label: "Why", wide: true, cell: ({ reason }) => reason },
  { label: "Text", cell: ({ text }) => html`<code>${text}</code>` },
];

/** The page. */
export default function Upload({ params: { id } }) {
  const path = `/api/conversions/uploads/${id}`;
  const {
    data: one,
    error: lost,
    loading,
    reload,
  } = useLoad((signal) => api.get(path, {}, signal), [path]);
  useEffect(() => {
    const timer = !loading && WORKING.includes(one?.state) && setTimeout(reload, POLL_MS);
    return () => clearTimeout(timer);
  }, [one, loading]);
  const [run, busy, error] = useAction((step, body) =>
    api.post(`${path}/${step}`, body).then(reload),
  );
  const note = html`<${ErrorNote} error=${error ?? lost} retry=${reload} />`;
  if (!one)
    return html`
      <${PageHeader} title="Upload" back=${BACK} />
      ${lost ? note : html`<${Skeleton} lines=${6} />`}
    `;
  const { state, counts, form } = one;
  const mayWrite = can("conversions:write");
  const counted = Object.entries(COUNTS).filter(([name]) => counts[name]);
  const button = (step, label, kind) =>
    html`<${Button} ...${{ kind, busy }} onClick=${() => run(step)}>${label}<//>`;
  return html`
    <${PageHeader} title="Upload: ${form}" back=${BACK}>
      ${mayWrite && state === "checked" && button("run", "Record the rows", "main")}
      ${mayWrite && [...WORKING, "checked"].includes(state) && button("cancel", "Cancel")}
    <//>
    <p>
      <span role="status"><${Badge}>${state}<//></span> ${format.number(one.position)} rows${" "}
      ${counted.map(([name, text]) => `${format.number(counts[name])} ${text}`).join(", ")}
    </p>
    ${one.error && html`<p class="error">${one.error}</p>`} ${note}
    ${
      mayWrite &&
      CHECKABLE.includes(state) &&
      form !== "ndjson" &&
      html`<${Check} key=${one.columns} ...${{ one, path, busy, run }} />`
    }
    ${counts.refused > 0 && html`<${Refused} path="${path}/rejected" one=${one} />`}
  `;
}

/** What the columns are, and another check by them. */
function Check({ one, path, busy, run }) {
  const { data } = useLoad((signal) => api.get(`${path}/preview`, {}, signal), [one.id]);
  const [chosen, setChosen] = useState({});
  if (!data) return null;
  const fields = { ...data.columns, ...chosen };
  const width = Math.max(...[data.headings, ...data.rows].map((cells) => cells.length));
  const columns = Array.from({ length: width }, (_, number) => fields[number] ?? "");
  const body = owned({ columns: columns.join(",") });
  return html`
    <${Columns}
      preview=${data}
      options=${FIELDS}
      fields=${fields}
      onChoose=${(number, field) => setChosen({ ...chosen, [number]: field })}
    />
    <${Button} busy=${busy} onClick=${() => run("check", body)}>Check again<//>
  `;
}

function Refused({ path, one }) {
  const { page } = route.value.query;
  const load = useLoad(
    (signal) => api.get(path, { page }, signal),
    [page, one.state, one.counts.refused],
  );
  return html`
    <div class="row">
      <h2>Refused rows</h2>
      <${CsvButton} path=${path} query=${{}} />
    </div>
    <${Table}
      caption="Refused rows"
      columns=${REFUSED}
      load=${load}
      rowKey=${({ line }) => line}
    />
    <${Pagination} pagination=${load.data?.pagination} noun="row" />
  `;
}
