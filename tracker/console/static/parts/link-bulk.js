/** The dialog that creates many links at once, one for each line. */

import {
  Button, ErrorNote, Select, TextField, api, can, copy, format, html, owned, toast, useAction, useLoad,
} from "console/core";
import { loadAll } from "console/parts/all";
import { Dialog } from "console/parts/dialog";
import { useDraft } from "console/parts/draft";
import { TagPicker } from "console/parts/link-tags";

const MOST = 100;
const EXAMPLE = "https://shop.example/offer spring Spring offer\nhttps://shop.example/news - Newsletter\nhttps://shop.example/sale";

/** The dialog. All links are made, or none. */
export function BulkDialog({ onClose, onDone }) {
  const { fields, set, dirty, clear } = useDraft("links:many", { text: "", domain_id: "", tags: [] });
  const domains = useLoad((signal) => (can("domains:read") ? loadAll("/api/domains", signal) : Promise.resolve({ rows: [] })), []);
  const links = parsed(fields.text);
  const [create, busy, error] = useAction(async () => {
    const others = { tags: fields.tags, ...(fields.domain_id && { domain_id: fields.domain_id }) };
    const { rows } = await api.post("/api/short-links/bulk", owned({ links: links.map((link) => ({ ...link, ...others })) }));
    clear();
    onDone();
    onClose();
    toast(`${format.count(rows.length, "link")} created`, { action: { label: "Copy their URLs", run: () => copy(rows.map((row) => row.short_url).join("\n")) } });
  });
  const options = [["", location.host], ...(domains.data?.rows ?? []).map(({ id, domain_name: name }) => [id, name])];
  const footer = html`
    ${dirty && html`<${Button} kind="quiet" disabled=${busy} onClick=${clear}>Discard the draft<//>`}
    <${Button} disabled=${busy} onClick=${onClose}>Cancel<//>
    <${Button} kind="main" type="submit" busy=${busy} disabled=${!links.length || links.length > MOST}>Create ${format.count(links.length, "link")}<//>`;
  return html`<${Dialog} title="Create many links" about="All of them are created, or none." wide ...${{ footer, busy, onClose }} onSubmit=${create}>
    <${TextField} label="One link a line" rows="8" class="code" spellcheck=${false} placeholder=${EXAMPLE} hint="The destination, then a slug (- for a random one), then a name. Slug and name may be left out." error=${links.length > MOST ? `at most ${MOST} lines` : ""} value=${fields.text} onInput=${set("text")} />
    ${options.length > 1 && html`<${Select} label="Domain" options=${options} value=${fields.domain_id} onInput=${set("domain_id")} />`}
    ${can("tags:read") && html`<${TagPicker} label="Tags of all of them" selected=${fields.tags} onChange=${set("tags")} />`}
    <${ErrorNote} error=${error && atLine(error)} />
  <//>`;
}

/** Return the links in a text: destination, slug and name of each line that is not empty. */
export function parsed(text) {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean)
    .map((line) => {
      const [, destination_url, slug, name] = /^(\S+)(?:\s+(\S+))?(?:\s+(.+))?$/.exec(line);
      return { destination_url, ...(slug && slug !== "-" && { slug }), ...(name && { internal_name: name }) };
    });
}

/** Return an error that names the line instead of the place in the request. */
function atLine(error) {
  const match = /^links\[(\d+)\]\.?/.exec(error.message);
  return match ? { message: `line ${Number(match[1]) + 1}: ${error.message.slice(match[0].length)}` } : error;
}
