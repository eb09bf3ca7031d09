/**
 * The dialog that creates many links at once, from lines or CSV. It shows them before they exist.
 */

import { useRef, useState } from "preact/hooks";
import { Select, TextField } from "console/core/fields";
import { format } from "console/core/format";
import { useAction, useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { Button, ErrorNote } from "console/core/parts";
import { can } from "console/core/session";
import { copy, toast } from "console/core/toasts";
import { loadAll } from "console/parts/all";
import { Dialog } from "console/parts/dialog";
import { useDraft } from "console/parts/draft";
import { ColumnSelects } from "console/links/column-selects";
import { createAll } from "console/links/creation";
import { ENCODINGS, decoded } from "console/links/delimited";
import { domainOption } from "console/links/fields";
import { UtmBuilder, onlyTag } from "console/links/form";
import { readLinks, withoutRows } from "console/links/lines";
import { LinkPreview } from "console/links/preview";
import { SEPARATORS } from "console/links/separators";
import { missingTags } from "console/links/tag-names";
import { TagPicker } from "console/links/tags";
import { UTM, withUtm } from "console/links/utm";

const MOST = 1000;
const SHOWN = 100;
/** Stands for the destinations, in the fields of UTM values of all of them. */
const ALL = "https://all/";
const EXAMPLE = [
  "https://shop.example/offer spring Spring offer",
  "https://shop.example/news - Newsletter",
  "https://shop.example/sale",
].join("\n");
const HINT = [
  "A line has the destination, then a slug (- for a random one), then a name. Slug and name may be",
  "left out. Columns with headings, such as URL, Slug, Name, Tags, may be in any order. There may",
  "also be domain_name, active, and utm_source to utm_content.",
].join(" ");

/** The dialog. Each hundred of the links is created whole, or not at all. */
export function BulkDialog({ onClose, onDone }) {
  const { fields, set, change, dirty, clear } = useDraft("links:many", {
    text: "",
    separator: "",
    columns: {},
    domain_id: "",
    tags: onlyTag(),
    utm: "",
    since: "",
  });
  const domains = useChoices("/api/domains", "domains:read");
  const tags = useChoices("/api/tags", "tags:read");
  const { rows, hosts, newTags, ignored, separator, unsure, columns } = linksIn(
    fields,
    domains.data?.rows,
    tags.data?.rows,
  );
  const typed = useRef();
  const [done, setDone] = useState(0);
  const [create, busy, error] = useAction(async () => {
    const common = (await typed.current?.()) ?? fields.tags;
    const links = { rows, hosts, newTags, known: tags.data.rows, ...fields, tags: common };
    let rest = fields.text;
    const onPart = (count) => {
      setDone(count);
      change({ text: (rest = withoutRows(fields.text, rows, count)), since: "" });
    };
    const urls = await createAll(links, onPart).catch((failed) => {
      if (newTags.length) tags.reload();
      if (rest !== fields.text) onDone();
      if (failed.since !== undefined) set("since")(failed.since);
      throw Object.assign(failed, { of: rest });
    });
    clear();
    onDone();
    onClose();
    toast(`${format.count(urls.length, "link")} created`, {
      action: { label: "Copy their URLs", run: () => copy(urls.join("\n")) },
    });
  });
  const options = [["", location.host], ...(domains.data?.rows ?? []).map(domainOption)];
  const chosen = domains.data?.rows.find(({ id }) => id === fields.domain_id);
  const host = chosen?.domain_name ?? location.host;
  const bad = rows.filter((row) => row.problem).length;
  const tooMany = rows.length > MOST && `At most ${MOST} links at once; these are ${rows.length}.`;
  const failedLine = error?.of === fields.text && error.line;
  return html`<${Dialog}
    title="Create many links"
    about="Each hundred of them is created whole, or not at all."
    action="Create ${format.count(rows.length, "link")}"
    disabled=${!rows.length || bad > 0 || unsure || tooMany || !domains.data || !tags.data}
    discard=${dirty && clear}
    wide
    ...${{ busy, onClose }}
    onSubmit=${create}
  >
    <${TextField}
      label="One link a line, or CSV"
      rows="7"
      class="code"
      spellcheck=${false}
      placeholder=${EXAMPLE}
      hint=${HINT}
      error=${tooMany}
      value=${fields.text}
      onInput=${set("text")}
    />
    <div class="row">
      <${FileFields} onText=${(text) => change({ text, columns: {} })} />
      <${SeparatorSelect}
        found=${fields.text.trim() && !unsure ? separator : ""}
        value=${fields.separator}
        onInput=${set("separator")}
      />
    </div>
    ${unsure && html`<${SeparatorQuestion} found=${unsure} onChoose=${set("separator")} />`}
    ${
      columns.length > 1 &&
      separator !== " " &&
      html`<${ColumnSelects} ...${{ columns }} chosen=${fields.columns} onChange=${set("columns")} />`
    }
    ${busy && done > 0 && html`<p role="status">${format.count(done, "link")} created</p>`}
    ${
      rows.length > 0 &&
      html`<${LinkPreview} ...${{ rows, host, bad, newTags, ignored, failedLine }} most=${SHOWN} />`
    }
    ${
      options.length > 1 &&
      html`<${Select}
        label="Domain"
        options=${options}
        value=${fields.domain_id}
        onInput=${set("domain_id")}
      />`
    }
    <${UtmBuilder}
      url=${ALL + fields.utm}
      about="Written into each destination that has none of its own."
      onChange=${(url) => set("utm")(url.slice(ALL.length))}
    />
    ${
      can("tags:read") &&
      html`<${TagPicker}
        label="Tags of all of them"
        selected=${fields.tags}
        onChange=${set("tags")}
        typed=${typed}
      />`
    }
    ${[domains, tags].map(
      (list) => html`<${ErrorNote} error=${list.error} retry=${list.reload} />`,
    )}
    <${ErrorNote} error=${error} />
  <//>`;
}

/** Load all rows of a list, none without the scope. */
function useChoices(path, scope) {
  return useLoad(
    (signal) => (can(scope) ? loadAll(path, signal) : Promise.resolve({ rows: [] })),
    [],
  );
}

/** Return the links of a text. Lists that are not there yet find no problems. */
function linksIn({ text, separator, columns, utm }, domains, tags) {
  const read = readLinks(text, separator, columns);
  const given = Object.fromEntries(new URLSearchParams(utm));
  const values = Object.fromEntries(UTM.map(([name]) => [name, given[name]]));
  const hosts = domains && new Map(domains.map(({ id, domain_name: name }) => [name, id]));
  const rows = read.rows.map((row) => ({
    ...row,
    link: row.problem ? row.link : withValues(row.link, values),
    problem: row.problem || unknown(row, hosts, tags),
  }));
  return { ...read, rows, hosts, newTags: missingTags(rows, tags) };
}

function withValues(link, values) {
  return { ...link, destination_url: withUtm(link.destination_url, values) };
}

/** Return what a row names and the account does not have, in words. */
function unknown({ domain, tags: names }, hosts, tags) {
  if (domain && hosts && !isDefault(domain) && !hosts.has(domain))
    return `the domain ${domain} is none of yours`;
  const [missing] = can("tags:write") ? [] : missingTags([{ tags: names }], tags);
  if (missing) return `there is no tag ${missing}`;
  return "";
}

function isDefault(domain) {
  return [location.host, location.hostname].includes(domain);
}

/** A button that reads a file of text, and the encoding of it, in which it is read again. */
function FileFields({ onText }) {
  const [file, setFile] = useState(null);
  const [encoding, setEncoding] = useState("");
  const pick = async (event) => {
    const [picked] = event.target.files;
    if (picked) {
      const buffer = await picked.arrayBuffer();
      setFile(buffer);
      onText(decoded(buffer, encoding));
    }
    event.target.value = "";
  };
  const choose = (name) => {
    setEncoding(name);
    if (file) onText(decoded(file, name));
  };
  return html`
    <label class="button file">
      Choose a CSV file
      <input
        class="visually-hidden"
        type="file"
        accept=".csv,.tsv,.txt,text/csv,text/plain"
        onChange=${pick}
      />
    </label>
    <${Select}
      label="Encoding of the file"
      options=${[["", "Find it"], ...ENCODINGS]}
      value=${encoding}
      onInput=${choose}
    />
  `;
}

/** The question whether a separator is one, or part of URLs. */
function SeparatorQuestion({ found, onChoose }) {
  const [, name] = SEPARATORS.find(([one]) => one === found);
  return html`<div class="row" role="group" aria-label="Separator of these lines">
    <p class="error">Is the ${name} part of these URLs, or does it end them?</p>
    <${Button} onClick=${() => onChoose(" ")}>Part of the URLs<//>
    <${Button} onClick=${() => onChoose(found)}>It ends them<//>
  </div>`;
}

/** The separator: the one that was found, or another. */
function SeparatorSelect({ found, value, onInput }) {
  const name = SEPARATORS.find(([one]) => one === found)?.[1];
  const options = [
    ["", name && !value ? `Found: ${name}` : "Find it"],
    ...SEPARATORS.map(([one, text]) => [one, text[0].toUpperCase() + text.slice(1)]),
  ];
  return html`<${Select} label="Separator" options=${options} value=${value} onInput=${onInput} />`;
}
