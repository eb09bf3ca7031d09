/** The first step of an import: the dry run. */

import { useState } from "preact/hooks";
import { api, owned } from "console/core/api";
import { Select } from "console/core/fields";
import { useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { Button, ErrorNote } from "console/core/parts";
import { can } from "console/core/session";
import { loadAll } from "console/parts/all";
import { Columns } from "console/parts/file";
import { domainOption } from "console/links/fields";

const FIELDS = `id source_url aliases domain_name path destination_url internal_name tags archived
  created_at starts_at expires_at expired_url max_clicks notes external_id password clicks`
  .split(/\s+/)
  .map((name) => [name, name.replaceAll("_", " ")]);

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
  const own = hosts.map(domainOption);
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
        ...${{ preview, options: FIELDS, fields: Object.fromEntries(columns) }}
        onChoose=${(number, field) => setChosen({ ...chosen, [number]: field })}
      />`
    }
    <${Button} busy=${busy} onClick=${() => act("check", owned(body))}>Check, import nothing<//>
  `;
}
