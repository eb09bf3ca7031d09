/** What was changed in a link, each change with the button that sets it back. */

import { api } from "console/core/api";
import { namesOf } from "console/core/fields";
import { format } from "console/core/format";
import { useAction } from "console/core/hooks";
import { html } from "console/core/html";
import { Button, ErrorNote, Skeleton, Time } from "console/core/parts";
import { can } from "console/core/session";
import { loadAll } from "console/parts/all";
import { Changes } from "console/parts/history";
import { toastChange } from "console/links/changes";
import { TEXTS } from "console/links/fields";
import { OPTIONS } from "console/links/options";

const FIELDS = ["destination_url", "active", "tags", ...namesOf([...TEXTS, ...OPTIONS])];
const CUT = /… \([\d,]+ more characters\)$/;

/** The card. `history` is the load of its entries; `onChanged` gets the link that was set back. */
export function History({ link, history, onChanged }) {
  const rows = history.data?.rows;
  const [setBack, busy, error] = useAction(async (fields) => {
    const sent = "tags" in fields ? { ...fields, tags: await tagsNamed(fields.tags) } : fields;
    const saved = await api.patch(`/api/short-links/${link.id}`, sent, link.revision);
    onChanged(saved);
    toastChange("Set back", link, saved, Object.keys(sent), onChanged);
  });
  const offer = (entry) => {
    const fields = earlier(entry);
    if (!can("links:write") || link.archived || !Object.keys(fields).length) return null;
    return html`<${Button}
      label="Set back the change of ${format.time(entry.at)}"
      busy=${busy}
      onClick=${() => setBack(fields)}
    >
      Set back
    <//>`;
  };
  return html`<section class="card">
    <h2>History</h2>
    <${ErrorNote} error=${history.error} retry=${history.reload} />
    <${ErrorNote} error=${error} />
    ${!rows && !history.error && html`<${Skeleton} />`}
    ${rows?.length === 0 && html`<p class="about">No changes are recorded.</p>`}
    ${
      rows?.length > 0 &&
      html`<ol class="history">
        ${rows.map(
          (entry) => html`<li key=${entry.id}>
            <div class="row between">
              <span>
                <strong>${entry.actor.name}</strong> ${verb(entry.action)} <${Time} at=${entry.at} />
              </span>
              ${offer(entry)}
            </div>
            <${Changes} changes=${entry.changes} />
          </li>`,
        )}
      </ol>`
    }
  </section>`;
}

/** Return the verb of an action: "short_link.role_changed" is "role changed". */
function verb(action) {
  return action.split(".")[1].replace(/_/g, " ");
}

/** Return the fields before a change as the API takes them, but tags. A value that is cut has none. */
export function earlier({ action, changes }) {
  if (action !== "short_link.changed") return {};
  const known = Object.entries(changes ?? {}).filter(
    ([name, { before }]) => FIELDS.includes(name) && !CUT.test(before),
  );
  return Object.fromEntries(known.map(([name, { before }]) => [name, valueOf(name, before)]));
}

function valueOf(name, text) {
  const { lines, money } = OPTIONS.find((row) => row.name === name) ?? {};
  if (lines) return JSON.parse(text);
  return money && text !== null ? Number(text) : text;
}

/** Return the ids of tags that the audit log names. */
async function tagsNamed(text) {
  const { rows } = await loadAll("/api/tags");
  return (text?.split(", ") ?? []).map((name) => {
    const tag = rows.find((one) => one.name === name);
    if (!tag) throw new Error(`There is no tag “${name}” any more.`);
    return tag.id;
  });
}
