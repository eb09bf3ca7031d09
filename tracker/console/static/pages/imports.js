/** Imports: the list, and a page of each, from its file over the dry run to the cut-over. */

import { useEffect, useState } from "preact/hooks";
import { api, errorOf, owned } from "console/core/api";
import { FormFields, Select, namesOf, useFields } from "console/core/fields";
import { format } from "console/core/format";
import { useAction, useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { Pagination, Table } from "console/core/lists";
import { Badge, Button, Choice, CsvButton, ErrorNote, PageHeader, Time } from "console/core/parts";
import { navigate, route, setQuery } from "console/core/route";
import { can } from "console/core/session";
import { queryText } from "console/core/url";
import { loadAll } from "console/parts/all";
import { Dialog } from "console/parts/dialog";

const WORKING = ["reading", "checking", "running", "undoing", "comparing"];
const CHECKABLE = ["uploaded", "checked", "failed"];
/** [path, label, states, kind] of the steps besides the dry run. */
const STEPS = [
  ["run", "Import", ["checked"], "main"],
  ["pause", "Pause", ["running"]],
  ["resume", "Carry on", ["paused"], "main"],
  ["cut-over-check", "Check the cut-over", ["done"], "main"],
  ["undo", "Take it back", ["done", "cancelled", "failed", "undone"], "danger"],
  ["cancel", "Cancel", [...CHECKABLE, "created", "reading", "checking", "running", "paused"]],
];
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
const FIELDS = `source_url path aliases domain_name destination_url internal_name tags archived
  created_at starts_at expires_at expired_url max_clicks notes external_id password clicks id`
  .split(/\s+/)
  .map((name) => [name, name.replaceAll("_", " ")]);

/** The page of an import, or of all. */
export default function Page({ params: { id } }) {
  return id ? html`<${Import} path="/api/imports/${id}" />` : html`<${List} />`;
}

function List() {
  const { page } = route.value.query;
  const imports = useLoad((signal) => api.get("/api/imports", { page }, signal), [page]);
  const [open, setOpen] = useState(false);
  const from = ({ id, source, instance }) =>
    html`<a href="/console/imports/${id}">${source} ${instance}</a>`;
  const columns = [
    { label: "From", wide: true, cell: from },
    { label: "State", cell: ({ state }) => html`<${Badge}>${state}<//>` },
    { label: "Rows", numeric: true, cell: ({ total }) => format.number(total ?? 0) },
    { label: "Created", cell: (one) => html`<${Time} at=${one.created_at} />` },
  ];
  const button = html`<${Button} kind="main" onClick=${() => setOpen(true)}>New import<//>`;
  return html`
    <${PageHeader} title="Imports" about="Links of other services: printed ones go on working.">
      ${can("links:write") && button}
    <//>
    <${Table} caption="Imports" load=${imports} columns=${columns} empty="No imports yet." />
    <${Pagination} pagination=${imports.data?.pagination} noun="import" />
    ${open && html`<${NewDialog} onClose=${() => setOpen(false)} />`}
  `;
}

/** The dialog to begin an import: with a key from an API, else from a file that is sent next. */
function NewDialog({ onClose }) {
  const sources = useLoad((signal) => api.get("/api/imports/sources", {}, signal), []);
  const { fields, set } = useFields({ source: "", instance: "", url: "", key: "" });
  const rows = sources.data?.rows ?? [];
  const source = rows.find(({ name }) => name === fields.source) ?? rows[0];
  const [create, busy, error] = useAction(async () => {
    const { instance, url, key } = fields;
    const sent = { source: source.name, instance, ...(key && { api: { url, key } }) };
    const created = await api.post("/api/imports", owned(sent), { timeout: 60_000 });
    navigate(`/console/imports/${created.id}`);
  });
  const list = [
    { name: "source", label: "From", options: rows.map(({ name, label }) => [name, label]) },
    { name: "instance", label: "Installation", hint: "Any name, if you have several." },
    ...(source?.has_api
      ? [
          { name: "url", label: "Address of its API", placeholder: source.api_address },
          {
            name: "key",
            label: "Key",
            type: "password",
            hint: "Kept nowhere. Empty: send a file.",
          },
        ]
      : []),
  ];
  const footer = html`
    <${Button} disabled=${busy} onClick=${onClose}>Cancel<//>
    <${Button} kind="main" type="submit" disabled=${!source} busy=${busy}>Continue<//>
  `;
  return html`<${Dialog} title="New import" ...${{ footer, busy, onClose }} onSubmit=${create}>
    <${FormFields} ...${{ list, fields, set, error }} />
    ${source?.files.length > 0 && html`<p class="hint">Files: ${source.files.join(", ")}</p>`}
    <${ErrorNote} error=${error ?? sources.error} fields=${namesOf(list)} />
  <//>`;
}

function Import({ path }) {
  const { data: one, error: lost, reload } = useLoad((signal) => api.get(path, {}, signal), [path]);
  useEffect(() => {
    const timer = WORKING.includes(one?.state) && setTimeout(reload, 1000);
    return () => clearTimeout(timer);
  }, [one]);
  const [act, busy, error] = useAction((step, body) =>
    api.post(`${path}/${step}`, body).then(reload),
  );
  const note = html`<${ErrorNote} error=${error ?? lost} retry=${reload} />`;
  if (!one) return note;
  const mayWrite = can("links:write");
  const steps = STEPS.filter(([, , states]) => mayWrite && states.includes(one.state));
  const takesFile = mayWrite && ["created", ...CHECKABLE].includes(one.state);
  return html`
    <${PageHeader} title="Import from ${one.source} ${one.instance}" back="/console/imports">
      ${steps.map(
        ([step, label, , kind]) =>
          html`<${Button} ...${{ kind, busy }} onClick=${() => act(step)}>${label}<//>`,
      )}
    <//>
    <p role="status">
      <${Badge}>${one.state}<//> ${format.number(one.position)} of${" "}
      ${one.total === null ? "…" : format.number(one.total)} rows
      ${one.visits > 0 && `, ${format.number(one.visits_done)} of ${one.visits} visits`}
    </p>
    ${one.error && html`<p class="error">${one.error}</p>`} ${note}
    ${takesFile && html`<${FileField} path=${path} reload=${reload} />`}
    ${
      mayWrite &&
      CHECKABLE.includes(one.state) &&
      html`<${Check} key=${one.format + one.file_bytes} ...${{ one, path, busy, act }} />`
    }
    ${one.state === "done" && html`<${CutOver} path=${path} />`}
    ${Object.keys(one.counts).length > 0 && html`<${Rows} one=${one} path="${path}/rows" />`}
  `;
}

/** The file, which is sent while it is read from the disk. */
function FileField({ path, reload }) {
  const [part, setPart] = useState(0);
  const [send, busy, error] = useAction((file) =>
    sendFile(`${path}/file${queryText(owned({}))}`, file, setPart).then(reload),
  );
  return html`<label class="button file">
      ${busy ? `${format.percent(part)} sent` : "Choose the file"}
      <input
        class="visually-hidden"
        type="file"
        disabled=${busy}
        onChange=${({ target }) => target.files[0] && send(target.files[0])}
      />
    </label>
    <${ErrorNote} error=${error} />`;
}

function sendFile(path, file, onPart) {
  const request = new XMLHttpRequest(); // fetch tells no progress
  request.open("POST", path);
  request.setRequestHeader("Content-Type", "application/octet-stream");
  request.upload.onprogress = ({ loaded }) => onPart(loaded / file.size);
  return new Promise((resolve, reject) => {
    request.onload = () => {
      const answer = new Response(request.responseText, { status: request.status });
      return answer.ok ? resolve() : errorOf(answer).then(reject);
    };
    request.onerror = () => reject(new Error("The file did not arrive. Choose it again."));
    request.send(file);
  });
}

/** The dry run, with what it needs to know: columns of a CSV, and where domains' links go. */
function Check({ one, path, busy, act }) {
  const isCsv = one.file_bytes > 0 && one.format.startsWith("CSV");
  const load = async (signal) => ({
    preview: isCsv && (await api.get(`${path}/preview`, {}, signal).catch(() => null)),
    hosts: can("domains:read") ? (await loadAll("/api/domains", signal)).rows : [],
  });
  const { data, error } = useLoad(load, [path]);
  const [chosen, setChosen] = useState({});
  const [places, setPlaces] = useState(
    Object.fromEntries(one.domains.map(({ name, domain_id: id }) => [name, id ?? ""])),
  );
  if (!data) return html`<${ErrorNote} error=${error} />`;
  const { preview, hosts } = data;
  const known = one.columns.length ? one.columns : preview ? preview.columns : [];
  const fields = known.map(({ number, field }) => [number, field]);
  const columns = Object.entries({ ...Object.fromEntries(fields), ...chosen });
  const body = {
    columns: columns.flatMap(([at, field]) => (field ? [{ field, number: Number(at) }] : [])),
    domains: Object.entries(places)
      .filter(([, id]) => id !== "same")
      .map(([name, id]) => ({ name, domain_id: id || null })),
  };
  const own = hosts.map(({ id, domain_name: name }) => [id, name]);
  return html`
    ${one.domain_names.filter(Boolean).map(
      (name) => html`<${Select}
        label="Links of ${name} go to"
        options=${[["same", "my domain of that name"], ["", location.host], ...own]}
        value=${places[name] ?? "same"}
        onInput=${(id) => setPlaces({ ...places, [name]: id })}
      />`,
    )}
    ${
      preview &&
      html`<${Columns}
        ...${{ preview, fields: Object.fromEntries(columns) }}
        onChoose=${(number, field) => setChosen({ ...chosen, [number]: field })}
      />`
    }
    <${Button} busy=${busy} onClick=${() => act("check", owned(body))}>Check, import nothing<//>
  `;
}

/** The first rows of a CSV, each column with the choice of what it is. */
function Columns({ preview: { headings, rows }, fields, onChoose }) {
  const first = headings.length ? headings : (rows[0] ?? []);
  const columns = first.map((_, number) => ({
    label: html`${headings[number]}
      <${Choice}
        label="Column ${number + 1}"
        options=${[["", "not used"], ...FIELDS]}
        value=${fields[number] ?? ""}
        onInput=${(field) => onChoose(number, field)}
      />`,
    cell: (row) => row[number],
  }));
  const load = { data: { rows } };
  const rowKey = (row) => rows.indexOf(row);
  return html`<${Table} caption="The first rows" ...${{ columns, load, rowKey }} />`;
}

function CutOver({ path }) {
  const { data } = useLoad((signal) => api.get(`${path}/cut-over-check`, {}, signal), [path]);
  if (!data) return null; // none was begun
  const show = () => setQuery({ outcome: "differing", page: null });
  return html`<section class="card">
    <h2>Cut-over</h2>
    <p>
      ${format.number(data.same)} of ${format.number(data.paths)} paths answer as before;${" "}
      ${format.number(data.differ)} differ. <${Button} onClick=${show}>Show what differs<//>
    </p>
    ${data.domains.map(
      ({ domain_name: name, to_change: change }) =>
        html`<p>${name}: ${change ? `set ${change}` : "leads here"}</p>`,
    )}
  </section>`;
}

function Rows({ one, path }) {
  const { page, outcome = "" } = route.value.query;
  const query = outcome === "differing" ? { differing: true } : { outcome };
  const keys = [page, outcome, one.state, one.position];
  const load = useLoad((signal) => api.get(path, { ...query, page }, signal), keys);
  const counted = Object.entries(OUTCOMES).filter(([name]) => one.counts[name]);
  const columns = [
    { label: "Row", numeric: true, cell: ({ row }) => row },
    { label: "Path", wide: true, cell: (row) => row.text || `${row.domain}/${row.path}` },
    { label: "Outcome", cell: (row) => OUTCOMES[row.outcome] },
    { label: "Why", cell: ({ field, reason }) => field && `${field}: ${reason}` },
    {
      label: "Destination",
      cell: (row) =>
        row.differ && outcome === "differing"
          ? `${row.asked}: ${row.expected} there, ${row.answered} here`
          : row.destination_url,
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
