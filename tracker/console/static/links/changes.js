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
 * Change links: `target` is {ids} or {filters}. Return the ids of the changed links; an error says
 * how many there were before it. `onProgress` gets that number after each part.
 */
export async function changeAll({ ids, filters }, fields, onProgress = () => {}) {
  const changed = [];
  try {
    for await (const part of ids ? partsOf(ids) : found(filters)) {
      const change = owned({ ids: part, ...fields });
      await patiently(() => api.patch("/api/short-links/bulk", change));
      onProgress(changed.push(...part));
    }
  } catch (error) {
    if (changed.length)
      error.message = `${format.count(changed.length, "link")} changed, then: ${error.message}`;
    throw error;
  }
  return changed;
}

function* partsOf(ids) {
  for (let at = 0; at < ids.length; at += MOST_AT_ONCE) yield ids.slice(at, at + MOST_AT_ONCE);
}

/** Yield the ids of a list by the place of its rows: a changed one may be in it no longer. */
async function* found(filters) {
  const query = { ...filters, sort: "newest", pageSize: MOST_AT_ONCE };
  let cursor = null;
  do {
    const after = { ...query, cursor };
    const page = await patiently(() => api.get("/api/short-links", after));
    cursor = page.next_cursor;
    if (page.rows.length) yield page.rows.map(({ id }) => id);
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
  const ids = await change({ archived });
  reload();
  const undo = () => changeAll({ ids }, { archived: !archived }).then(reload, showError);
  const subject = name ? `“${name}” is` : `${format.number(ids.length)} links are`;
  toast(`${subject} ${archived ? "archived" : "restored"}`, {
    action: { label: "Undo", run: undo },
  });
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
    toast(`${format.count(changed.length, "link")} ${active ? "activated" : "paused"}`);
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
