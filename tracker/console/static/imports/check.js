/** The first step of an import: its file, and the dry run. */

import { useState } from "preact/hooks";
import { api, errorOf, owned } from "console/core/api";
import { Select } from "console/core/fields";
import { format } from "console/core/format";
import { useAction, useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { Table } from "console/core/lists";
import { Button, ErrorNote } from "console/core/parts";
import { can } from "console/core/session";
import { queryText } from "console/core/url";
import { loadAll } from "console/parts/all";

const FIELDS = `id source_url aliases domain_name path destination_url internal_name tags archived
  created_at starts_at expires_at expired_url max_clicks notes external_id password clicks`
  .split(/\s+/)
  .map((name) => [name, name.replaceAll("_", " ")]);

/** The file, which is sent while it is read from the disk. */
export function FileField({ path, reload }) {
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
        onChange=${async ({ target }) => {
          if (target.files[0]) await send(target.files[0]);
          target.value = ""; // so that the same file can be chosen again
        }}
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
export function Check({ one, path, busy, act }) {
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
  const own = hosts.map(({ id, domain_name: name, verified }) => [
    id,
    verified ? name : `${name} (not verified)`,
  ]);
  const place = (name) => html`<${Select}
    label=${name ? `Links of ${name} go to` : "Links that name no domain go to"}
    hint=${name ? undefined : "Choose the domain that is printed: elsewhere its paths do not open."}
    options=${[...(name ? [["same", "my domain of that name"]] : []), ["", location.host], ...own]}
    value=${places[name] ?? (name ? "same" : "")}
    onInput=${(id) => setPlaces({ ...places, [name]: id })}
  />`;
  // Before the first check it is not known which domains the source names.
  const names = one.domain_names.length ? [...one.domain_names].sort() : [""];
  return html`
    <div class="columns">${names.map(place)}</div>
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

/** The first rows of a CSV, and the choice of what each column is. */
function Columns({ preview: { headings, rows }, fields, onChoose }) {
  const columns = (headings.length ? headings : (rows[0] ?? [])).map((_, number) => ({
    label: headings[number] || `Column ${number + 1}`,
    wide: number === 0,
    cell: (row) => row[number],
  }));
  const load = { data: { rows } };
  return html`
    <fieldset>
      <legend>What the columns are</legend>
      <div class="columns">
        ${columns.map(
          ({ label }, number) => html`<${Select}
            label=${label}
            options=${[["", "not used"], ...FIELDS]}
            value=${fields[number] ?? ""}
            onInput=${(field) => onChoose(number, field)}
          />`,
        )}
      </div>
    </fieldset>
    <${Table}
      caption="The first rows"
      rowKey=${(row) => rows.indexOf(row)}
      ...${{ columns, load }}
    />
  `;
}
