/** The command palette: any page, link or tag by a few letters, and what an id finds. */

import { useEffect, useId, useRef, useState } from "preact/hooks";
import { api } from "console/core/api";
import { useLoad, useSettled } from "console/core/hooks";
import { html } from "console/core/html";
import { ErrorNote } from "console/core/parts";
import { navigate } from "console/core/route";
import { can } from "console/core/session";
import { loadAll } from "console/parts/all";
import { Dialog } from "console/parts/dialog";
import { isPostback, seek } from "console/conversions/find";

const FOUND = 6;
const LABEL = "Page, link or tag, any id or a postback URL";

/** The dialog. `navigation` has the pages that the reader may see. */
export function PaletteDialog({ navigation, onClose }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const search = useSettled(text.trim(), 150);
  const links = useLoad((signal) => findLinks(search, signal), [search]);
  const tags = useLoad(findTags, []);
  const id = useId();
  const list = useRef(null);
  const wanted = text.trim();
  const has = ({ label }) => label.toLowerCase().includes(wanted.toLowerCase());
  const known = links.data?.text === wanted;
  const options = navigation.filter(has).map(({ href, label }) => ({ href, label, about: "page" }));
  if (wanted) {
    // Links that were found for another text count only if they have this one: Enter must not lead
    // elsewhere.
    options.push(...(links.data?.options ?? []).filter((option) => known || has(option)));
    options.push(...(tags.data?.rows ?? []).map(tagOption).filter(has).slice(0, FOUND));
    if (can("conversions:read") && (isPostback(wanted) || /\d/.test(wanted)))
      options.push({ sought: wanted, label: wanted, about: "find as an id or a postback URL" });
  }
  const current = Math.min(at, options.length - 1);
  useEffect(
    () =>
      list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" }),
    [current],
  );
  const go = (option) => {
    if (!option) return;
    onClose();
    if (option.sought) seek(option.sought);
    else navigate(option.href);
  };
  const press = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    setAt((current + step + options.length) % Math.max(1, options.length));
  };
  return html`<${Dialog} title="Go to" onClose=${onClose} onSubmit=${() => go(options[current])}>
    <input
      type="text"
      role="combobox"
      aria-label=${LABEL}
      placeholder=${LABEL}
      autocomplete="off"
      data-focus
      aria-expanded="true"
      aria-controls=${id}
      aria-activedescendant=${options.length ? `${id}-${current}` : undefined}
      value=${text}
      onInput=${(event) => {
        setText(event.target.value);
        setAt(0);
      }}
      onKeyDown=${press}
    />
    <${ErrorNote}
      error=${links.error ?? tags.error}
      retry=${() => (links.error ? links : tags).reload()}
    />
    <ul class="palette" id=${id} role="listbox" aria-label="Found" ref=${list}>
      ${options.map(
        (option, index) => html`<li
          key=${option.href ?? "sought"}
          id="${id}-${index}"
          role="option"
          aria-selected=${index === current}
          onClick=${() => go(option)}
          onPointerMove=${() => setAt(index)}
        >
          <span class="truncate">${option.label}</span>
          <span class="hint">${option.about}</span>
        </li>`,
      )}
    </ul>
    ${
      options.length === 0 &&
      known &&
      tags.data &&
      html`<p class="about">Nothing is called that.</p>`
    }
  <//>`;
}

const tagOption = ({ id, name: label }) => ({
  href: `/console/overview?tag=${id}`,
  label,
  about: "tag",
});

/** Return {text, options}: the links that a text finds. */
async function findLinks(text, signal) {
  if (!text || !can("links:read")) return { text, options: [] };
  const { rows } = await api.get("/api/short-links", { search: text, pageSize: FOUND }, signal);
  return {
    text,
    options: rows.map(({ id, internal_name: label, slug }) => ({
      href: `/console/links/${id}`,
      label,
      about: `link /${slug}`,
    })),
  };
}

/** Return {rows} with the tags whose reports the reader may see. */
async function findTags(signal) {
  return can("tags:read") && can("reports:read") ? loadAll("/api/tags", signal) : { rows: [] };
}
