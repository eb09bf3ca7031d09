/** Uploads of conversions: all of them, and the way to a new one. */

import { useState } from "preact/hooks";
import { api, owned } from "console/core/api";
import { Select } from "console/core/fields";
import { format } from "console/core/format";
import { useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { Pagination, Table } from "console/core/lists";
import { Badge, Empty, PageHeader, Time } from "console/core/parts";
import { navigate, route } from "console/core/route";
import { can } from "console/core/session";
import { queryText } from "console/core/url";
import { loadAll } from "console/parts/all";
import { FileField } from "console/parts/file";

const BACK = { href: "/console/conversions", label: "Conversions" };
const ABOUT = "Conversions, and what has become of them, from the files of networks.";
const COLUMNS = [
  {
    label: "Form",
    wide: true,
    cell: ({ id, form }) => html`<a href="/console/conversions/uploads/${id}">${form}</a>`,
  },
  { label: "State", cell: ({ state }) => html`<${Badge}>${state}<//>` },
  { label: "Rows", numeric: true, cell: ({ position }) => format.number(position) },
  { label: "Refused", numeric: true, cell: ({ counts }) => format.number(counts.refused ?? 0) },
  { label: "Sent", cell: (one) => html`<${Time} at=${one.created_at} />` },
];
const FORMS = [
  ["csv", "CSV with headings"],
  ["ndjson", "NDJSON: an object on each line"],
  ["keitaro", "Keitaro: sub_id,payout,tid,status"],
  ["binom", "Binom: clickid:payout:status"],
  ["voluum", "Voluum: click id, payout, type, transaction id"],
  ["clickflare", "ClickFlare: click id, payout, transaction id, type, timestamp"],
];

/** The page. */
export default function Uploads() {
  const { page } = route.value.query;
  const load = useLoad((signal) => api.get("/api/conversions/uploads", { page }, signal), [page]);
  const empty = html`<${Empty} title="No uploads yet" />`;
  return html`
    <${PageHeader} title="Uploads" about=${ABOUT} back=${BACK} />
    ${can("conversions:write") && html`<${NewUpload} />`}
    <${Table} caption="Uploads" columns=${COLUMNS} ...${{ load, empty }} />
    <${Pagination} pagination=${load.data?.pagination} noun="upload" />
  `;
}

function NewUpload() {
  const { data } = useLoad((signal) => loadAll("/api/event-configs", signal), []);
  const [form, setForm] = useState("csv");
  const [chosen, setEvent] = useState();
  const events = (data?.rows ?? []).map(({ id, name }) => [id, name]);
  const event = chosen ?? events[0]?.[0] ?? "";
  const query = owned({ form, dry_run: true, ...(event && { event }) });
  return html`<section class="card">
    <div class="columns">
      <${Select} label="Form" options=${FORMS} value=${form} onInput=${setForm} />
      <${Select}
        label="Event"
        options=${[...events, ["", "as a column says (pbk)"]]}
        value=${event}
        onInput=${setEvent}
      />
    </div>
    <${FileField}
      path="/api/conversions/upload${queryText(query)}"
      onSent=${({ id }) => navigate(`/console/conversions/uploads/${id}`)}
    />
    <p class="hint">It is checked first; nothing is recorded yet. Up to 50,000 rows and 20 MB.</p>
  </section>`;
}
