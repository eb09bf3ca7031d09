/** The words of a status that nobody has given a meaning, each with a button that gives it one. */

import { useState } from "preact/hooks";
import { api, owned } from "console/core/api";
import { format } from "console/core/format";
import { useAction, useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { Button, Choice, ErrorNote, Icon, Time } from "console/core/parts";
import { can } from "console/core/session";
import { toast } from "console/core/toasts";
import { loadAll } from "console/parts/all";
import { MEANINGS, meaningWord } from "console/conversions/parameter-aliases";

const PAGE_SIZE = 100;
const MOST_PAGES = 100;
const OPTIONS = MEANINGS.map(([meaning]) => [meaning, meaningWord(meaning)]);

/** The note, if there are such words. `onMapped` is called after each. */
export function UnknownWords({ onMapped }) {
  const path = "/api/event-configs/unknown-words";
  const { data, reload } = useLoad((signal) => api.get(path, {}, signal), []);
  if (!data?.rows.length) return null;
  const onDone = () => {
    reload();
    onMapped();
  };
  return html`<section class="note warning" aria-label="Words that nobody has mapped">
    <${Icon} name="warning" />
    <div>
      <p>Networks sent these words as status, and nobody has said what they mean:</p>
      <ul>
        ${data.rows.map(
          (row) => html`<${Word} key="${row.event_config_id} ${row.word}" ...${{ row, onDone }} />`,
        )}
      </ul>
    </div>
  </section>`;
}

/** Give earlier conversions of a word its meaning; return their number, 10,000 at most. */
async function correctEarlier({ event_config_id: event, word }, meaning) {
  const status = meaning === "count" ? "approved" : meaning;
  let number = 0;
  let cursor;
  for (let pages = 0; pages < MOST_PAGES && cursor !== null; pages += 1) {
    const asked = { event, unknown_word: word, cursor, pageSize: PAGE_SIZE };
    const found = await api.get("/api/conversions", asked);
    const rows = found.rows.map(({ event_id }) => ({ event_id, status, reason: "mapped" }));
    const answer = rows.length ? await api.post("/api/conversions/bulk", owned({ rows })) : found;
    number += answer.rows.filter(({ error }) => !error).length;
    cursor = found.next_cursor;
  }
  return number;
}

function Word({ row, onDone }) {
  const [meaning, setMeaning] = useState("pending");
  const [save, busy, error] = useAction(async () => {
    const id = row.event_config_id;
    const { rows } = await loadAll("/api/event-configs");
    const statuses = { ...rows.find((one) => one.id === id)?.statuses, [row.word]: meaning };
    await api.patch(`/api/event-configs/${id}`, { statuses });
    const earlier = can("conversions:write") ? await correctEarlier(row, meaning) : 0;
    const also = earlier ? `, and of ${format.count(earlier, "earlier conversion")}` : "";
    toast(`“${row.word}” is ${meaningWord(meaning)} from now on${also}`);
    onDone();
  });
  return html`<li>
    <strong>${row.word}</strong> of “${row.event_config_name}”:${" "}
    ${format.count(row.conversions, "conversion")}, last <${Time} at=${row.last_at} />${" "}
    ${
      can("event_configs:write") &&
      html`<span class="row">
        <${Choice}
          label="Meaning of ${row.word}"
          options=${OPTIONS}
          value=${meaning}
          onInput=${setMeaning}
        />
        <${Button} label="Map ${row.word}" busy=${busy} onClick=${save}>Map it<//>
      </span>`
    }
    <${ErrorNote} error=${error} />
  </li>`;
}
