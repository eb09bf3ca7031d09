/** Tags of links: the picker in a form, the filter of the list, and tagging many links at once. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { api, owned } from "console/core/api";
import { Checkbox } from "console/core/fields";
import { format } from "console/core/format";
import { useAction, useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { Button, ErrorNote } from "console/core/parts";
import { setQuery } from "console/core/route";
import { can } from "console/core/session";
import { loadAll } from "console/parts/all";
import { Dialog } from "console/parts/dialog";
import { toastChanges, useChanges } from "console/links/changes";
import { stripped } from "console/links/invisible";
import { folded } from "console/links/tag-names";

function useTags() {
  return useLoad((signal) => loadAll("/api/tags", signal), []);
}

/**
 * A set of boxes, one a tag, and a field that finds a tag among many, or creates one. `selected`
 * are ids. What is typed and not added yet, `typed.current()` adds: it resolves to the ids then
 * selected, and its form calls it before it sends them.
 */
export function TagPicker({ selected, onChange, typed, label = "Tags" }) {
  const tags = useTags();
  const [name, setName] = useState("");
  const rows = tags.data?.rows ?? [];
  const wanted = folded(stripped(name));
  const shown = rows.filter(
    (tag) => folded(tag.name).includes(wanted) || selected.includes(tag.id),
  );
  const take = async () => {
    if (!wanted) return selected;
    // A name may be typed before the list is there.
    const { rows: all } = tags.data ?? (await loadAll("/api/tags"));
    const known = all.find((tag) => folded(tag.name) === wanted);
    const tag = known ?? (await api.post("/api/tags", owned({ name })));
    if (!known) tags.reload();
    const ids = [...new Set([...selected, tag.id])];
    onChange(ids);
    setName("");
    return ids;
  };
  const [add, busy, error] = useAction(take);
  useLayoutEffect(() => {
    typed.current = take;
  });
  const toggle = (id) => (on) => {
    onChange(on ? [...selected, id] : selected.filter((one) => one !== id));
    if (on) setName(""); // it was found
  };
  const enter = (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    if (wanted) add();
  };
  return html`<fieldset class="tag-picker">
    <legend>${label}</legend>
    <div class="boxes">
      ${shown.map(
        ({ id, name: text }) => html`<${Checkbox}
          key=${id}
          label=${text}
          checked=${selected.includes(id)}
          onInput=${toggle(id)}
        />`,
      )}
    </div>
    ${
      can("tags:write") &&
      html`<div class="row">
        <input
          type="text"
          aria-label="New tag"
          placeholder=${rows.length > 10 ? "Find or create a tag" : "New tag"}
          maxlength="190"
          value=${name}
          onInput=${(event) => setName(event.target.value)}
          onKeyDown=${enter}
        />
        <${Button} busy=${busy} disabled=${!wanted} onClick=${add}>Add<//>
      </div>`
    }
    <${ErrorNote} error=${error ?? tags.error} />
  </fieldset>`;
}

/** The dialog of the list's filter by tags. The ids are in the URL. */
export function TagFilterDialog({ selected, operator, onClose }) {
  const pick = (ids) => setQuery({ tags: ids.join(","), page: null });
  const tags = useTags();
  const toggle = (id) => (on) =>
    pick(on ? [...selected, id] : selected.filter((one) => one !== id));
  const footer = html`
    <${Button} disabled=${!selected.length} onClick=${() => pick([])}>Clear<//>
    <${Button} kind="main" onClick=${onClose}>Done<//>
  `;
  return html`<${Dialog} title="Filter by tags" ...${{ footer, onClose }}>
    <div class="boxes">
      ${(tags.data?.rows ?? []).map(
        ({ id, name }) => html`<${Checkbox}
          key=${id}
          label=${name}
          checked=${selected.includes(id)}
          onInput=${toggle(id)}
        />`,
      )}
    </div>
    ${tags.data?.rows.length === 0 && html`<p class="about">There are no tags yet.</p>`}
    ${
      selected.length > 1 &&
      html`<${Checkbox}
        label="Links must have all of them"
        checked=${operator === "AND"}
        onInput=${(on) => setQuery({ tagOperator: on ? "AND" : null, page: null })}
      />`
    }
    <${ErrorNote} error=${tags.error} retry=${tags.reload} />
  <//>`;
}

/** The dialog that adds tags to several links, of which `links` are on screen, and removes others. */
export function TagsDialog({ links, target, count, onClose, onDone }) {
  const common = links[0].tags
    .map(({ id }) => id)
    .filter((id) => links.every((link) => link.tags.some((tag) => tag.id === id)));
  const [selected, setSelected] = useState(common);
  const typed = useRef();
  const [change, progress] = useChanges({ target, count });
  const [save, busy, error] = useAction(async () => {
    const wanted = await typed.current();
    const add_tags = wanted.filter((id) => !common.includes(id));
    const remove_tags = common.filter((id) => !wanted.includes(id));
    const changed = await change({ add_tags, remove_tags });
    toastChanges(`Tags of ${format.count(changed.length, "link")} changed`, changed, {}, onDone);
    onDone();
    onClose();
  });
  return html`<${Dialog}
    title="Tags of ${format.count(count, "link")}"
    about="Ticked are the tags that all of them${links.length < count ? " on this page" : ""} have."
    action="Save"
    ...${{ busy, onClose }}
    onSubmit=${save}
  >
    <${TagPicker} ...${{ selected, typed }} onChange=${setSelected} />
    ${progress}
    <${ErrorNote} error=${error} />
  <//>`;
}
