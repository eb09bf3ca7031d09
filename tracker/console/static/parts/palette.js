/** The command palette: any page, link or tag, by a few letters. */

import { ErrorNote, api, can, html, navigate, useEffect, useId, useLoad, useRef, useSettled, useState } from "console/core";
import { Dialog } from "console/parts/dialog";

const FOUND = 6;

/** The dialog. `navigation` has the pages that the reader may see. */
export function PaletteDialog({ navigation, onClose }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const search = useSettled(text.trim(), 150);
  const found = useLoad((signal) => look(search, signal), [search]);
  const id = useId();
  const list = useRef(null);
  const pages = navigation.filter(({ label }) => label.toLowerCase().includes(text.trim().toLowerCase())).map(({ href, label }) => ({ href, label, about: "page" }));
  const options = [...pages, ...(text.trim() ? found.data ?? [] : [])];
  const current = Math.min(at, options.length - 1);
  useEffect(() => list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" }), [current]);
  const go = (option) => {
    if (!option) return;
    onClose();
    navigate(option.href);
  };
  const press = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    setAt((current + step + options.length) % Math.max(1, options.length));
  };
  return html`<${Dialog} title="Go to" onClose=${onClose} onSubmit=${() => go(options[current])}>
    <input type="search" role="combobox" aria-label="Page, link or tag" placeholder="Page, link or tag" autocomplete="off" data-focus aria-expanded="true" aria-controls=${id}
      aria-activedescendant=${options.length ? `${id}-${current}` : undefined} value=${text} onInput=${(event) => { setText(event.target.value); setAt(0); }} onKeyDown=${press} />
    <${ErrorNote} error=${found.error} retry=${found.reload} />
    <ul class="palette" id=${id} role="listbox" aria-label="Found" ref=${list}>
      ${options.map((option, index) => html`<li key=${option.href} id="${id}-${index}" role="option" aria-selected=${index === current} onClick=${() => go(option)} onPointerMove=${() => setAt(index)}>
        <span class="truncate">${option.label}</span><span class="hint">${option.about}</span>
      </li>`)}
    </ul>
    ${options.length === 0 && !found.loading && html`<p class="about">Nothing is called that.</p>`}
  <//>`;
}

/** Return the links and tags that a text finds, as {href, label, about}. */
async function look(text, signal) {
  if (!text) return [];
  const [links, tags] = await Promise.all([
    can("links:read") ? api.get("/api/short-links", { search: text, pageSize: FOUND }, signal) : { rows: [] },
    can("tags:read") ? api.get("/api/reports/values", { dimension: "tag", search: text, limit: FOUND }, signal).catch(() => ({ rows: [] })) : { rows: [] },
  ]);
  return [
    ...links.rows.map(({ id, internal_name: label, slug }) => ({ href: `/console/links/${id}`, label, about: `link /${slug}` })),
    ...tags.rows.map(({ key, name }) => ({ href: `/console/overview?tag=${key}`, label: name, about: "tag" })),
  ];
}
