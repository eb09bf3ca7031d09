/** Changes of many links, in parts: of those that are named, or of all that filters find. */

import { useState } from "preact/hooks";
import { api, owned } from "console/core/api";
import { format } from "console/core/format";
import { useAction } from "console/core/hooks";
import { html } from "console/core/html";
import { Button, ErrorNote } from "console/core/parts";
import { toast } from "console/core/toasts";

const MOST_AT_ONCE = 100;

/**
 * Change links: `target` is {links} or {filters}. Return [before, after] of each; an error says how
 * many there were before it. `onProgress` gets that number after each part.
 */
export async function changeAll({ links, filters }, fields, onProgress = () => {}) {
  const changed = [];
  try {
    for await (const part of links ? partsOf(links) : found(filters)) {
      const change = owned({ ids: part.map(({ id }) => id), ...fields });
      const { rows } = await patiently(() => api.patch("/api/short-links/bulk", change));
      onProgress(changed.push(...rows.map((after, at) => [part[at], after])));
    }
  } catch (error) {
    if (changed.length)
      error.message = `${format.count(changed.length, "link")} changed, then: ${error.message}`;
    throw error;
  }
  return changed;
}

function* partsOf(links) {
  for (let at = 0; at < links.length; at += MOST_AT_ONCE) yield links.slice(at, at + MOST_AT_ONCE);
}

/** Yield the links of a list by the place of its rows: a changed one may be in it no longer. */
async function* found(filters) {
  const query = { ...filters, sort: "newest", pageSize: MOST_AT_ONCE };
  let cursor = null;
  do {
    const after = { ...query, cursor };
    const page = await patiently(() => api.get("/api/short-links", after));
    cursor = page.next_cursor;
    if (page.rows.length) yield page.rows;
  } while (cursor);
}

/** Send a request again for as long as it is over the limit of requests. */
export async function patiently(send) {
  for (;;) {
    try {
      return await send();
    } catch (error) {
      if (error.status !== 429) throw error;
      await new Promise((resolve) => setTimeout(resolve, 1000 * (error.retryAfter || 1)));
    }
  }
}

export function showError(error) {
  toast(error.message, { kind: "bad" });
}

const idsOf = ({ tags }) => tags.map(({ id }) => id);

/** Return whether nobody else has changed a link between two states of it. */
const isOwn = ([before, after]) => after.revision === before.revision + 1;

/** Say `text`, and offer to set `names` of a link back, for as long as nobody changes it. */
export function toastChange(text, before, after, names, onDone) {
  const values = { ...before, tags: idsOf(before) };
  const back = Object.fromEntries(names.map((name) => [name, values[name]]));
  const path = `/api/short-links/${after.id}`;
  const run = () => api.patch(path, back, after.revision).then(onDone, showError);
  toast(text, isOwn([before, after]) && { action: { label: "Undo", run } });
}

/** Say `text`, and offer to undo what `changeAll` has `changed`, where nobody changes it. */
export function toastChanges(text, changed, fields, reload) {
  const groups = Object.groupBy(changed.filter(isOwn), (pair) => reversal(pair, fields));
  const undo = async () => {
    for (const [back, pairs] of Object.entries(groups))
      for (const part of partsOf(pairs.map(([, after]) => after))) {
        const of = { ids: part.map(({ id }) => id), revisions: part.map((one) => one.revision) };
        const body = owned({ ...of, ...JSON.parse(back) });
        await patiently(() => api.patch("/api/short-links/bulk", body)).catch(showError);
      }
    reload();
  };
  toast(text, Object.keys(groups).length > 0 && { action: { label: "Undo", run: undo } });
}

/** Return the change that undoes one of many, as JSON. */
function reversal([before, after], fields) {
  const less = (one, other) => idsOf(one).filter((id) => !idsOf(other).includes(id));
  const names = Object.keys(fields).filter((name) => name in before);
  return JSON.stringify({
    ...Object.fromEntries(names.map((name) => [name, before[name]])),
    ...{ add_tags: less(before, after), remove_tags: less(after, before) },
  });
}

/** Return [change, progress]: `progress` is shown while a `change` of many is under way. */
export function useChanges({ target, count }) {
  const [done, setDone] = useState(0);
  const change = (fields) => changeAll(target, fields, setDone).finally(() => setDone(0));
  const progress =
    done > 0 &&
    html`<p role="status">${format.number(done)} of ${format.count(count, "link")} changed</p>`;
  return [change, progress];
}

/** Archive or restore links together, and offer to undo it. */
export async function setArchived({ change, name }, archived, reload) {
  const changed = await change({ archived });
  reload();
  const subject = name ? `“${name}” is` : `${format.number(changed.length)} links are`;
  const text = `${subject} ${archived ? "archived" : "restored"}`;
  toastChanges(text, changed, { archived }, reload);
}

/**
 * What can be done with the selected links, at the bottom of the screen. `all` is the button that
 * selects all that match, where there are more.
 */
export function BulkBar({ links, target, count, all, reload, onOpen }) {
  const archived = links.some((link) => link.archived);
  const [change, progress] = useChanges({ target, count });
  const [act, busy, error] = useAction((work) =>
    work().catch((failed) => {
      reload(); // some of them are changed
      throw failed;
    }),
  );
  const setActive = (active) => async () => {
    const changed = await change({ active });
    const text = `${format.count(changed.length, "link")} ${active ? "activated" : "paused"}`;
    toastChanges(text, changed, { active }, reload);
    reload();
  };
  const archive = (to) => () => setArchived({ change }, to, reload);
  const button = (label, work, given) =>
    html`<${Button} ...${given} busy=${busy} onClick=${() => act(work)}>${label}<//>`;
  return html`<div class="bulk" role="region" aria-label="Selected links">
    <span>${format.count(count, "link")} selected</span>
    ${all} ${progress} <${ErrorNote} error=${error} />
    ${
      archived
        ? button("Restore", archive(false), { icon: "refresh" })
        : html`
          <${Button} icon="tag" onClick=${() => onOpen("tags")}>Tag<//>
          <${Button} onClick=${() => onOpen("options")}>Options<//>
          ${button("Pause", setActive(false))} ${button("Activate", setActive(true))}
          ${button("Archive", archive(true), { kind: "danger", icon: "archive" })}
        `
    }
  </div>`;
}
