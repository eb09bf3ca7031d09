/** A link that was changed since it was loaded: by whom and how, and the two ways out. */

import { api } from "console/core/api";
import { useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { Button, ErrorNote, Time } from "console/core/parts";
import { seesAll } from "console/core/session";
import { Changes } from "console/parts/history";

/**
 * Shown where saving failed with `error`. `base` has the id and the revision that was loaded. `onMine`
 * and `onTheirs` get the link as it is now.
 */
export function Conflict({ base, error, onMine, onTheirs }) {
  const path = `/api/short-links/${base.id}`;
  const now = useLoad(
    async (signal) => {
      const history = seesAll() ? api.get(`${path}/history`, {}, signal) : { rows: [] };
      const [link, { rows }] = await Promise.all([api.get(path, {}, signal), history]);
      return { link, entries: rows.slice(0, link.revision - base.revision) };
    },
    [error],
  );
  if (!now.data) return html`<${ErrorNote} error=${now.error} retry=${now.reload} />`;
  const { link, entries } = now.data;
  return html`<div class="note warning" role="alert">
    <p>This link was changed after you opened it. What you typed is still here, and not saved.</p>
    <ol class="history">
      ${entries.map(
        (entry) => html`<li key=${entry.id}>
          <span><strong>${entry.actor.name}</strong>, <${Time} at=${entry.at} /></span>
          <${Changes} changes=${entry.changes} />
        </li>`,
      )}
    </ol>
    <div class="row">
      <${Button} onClick=${() => onMine(link)}>Save mine<//>
      <${Button} onClick=${() => onTheirs(link)}>Take theirs<//>
    </div>
  </div>`;
}
