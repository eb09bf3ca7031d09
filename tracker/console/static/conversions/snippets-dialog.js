/** The ways to report a conversion, ready to copy, and what has arrived since. */

import { useRef, useState } from "preact/hooks";
import { api } from "console/core/api";
import { Select } from "console/core/fields";
import { format } from "console/core/format";
import { useAction, useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { Button, ErrorNote, Time } from "console/core/parts";
import { can } from "console/core/session";
import { toast } from "console/core/toasts";
import { CodeBlock } from "console/parts/code";
import { Dialog } from "console/parts/dialog";
import { usePoll } from "console/parts/poll";
import { meaningWord } from "console/conversions/parameter-aliases";
import { NETWORKS, missingWords } from "console/conversions/networks";
import { postbackUrl, snippets } from "console/conversions/snippets";

const POLL_MS = 3_000;
const ABOUT = [
  "Replace CLICK_ID by the click_id that the landing page was opened with, VALUE by what the order",
  "is worth, and ORDER_ID by its number. A conversion that still has one of them is refused. Each",
  "order number counts once.",
].join(" ");

/** The dialog. `onDone` is called once the configuration has more words. */
export function SnippetsDialog({ config, onClose, onDone }) {
  const [send, busy, error] = useAction(async () => {
    const { event_id: id } = await api.post(`/api/event-configs/${config.id}/test-conversion`, {
      value: 1,
    });
    toast(`Test conversion ${id} is recorded`);
  });
  const script = useLoad((signal) => api.get("/js/tracker.json", {}, signal), []);
  const footer = html`
    <${Button} busy=${busy} disabled=${!config.active} onClick=${send}>Send a test conversion<//>
    <${Button} kind="main" data-focus onClick=${onClose}>Close<//>
  `;
  return html`<${Dialog}
    title="Report “${config.name}”"
    about=${ABOUT}
    wide
    ...${{ footer, onClose }}
  >
    <${Postback} ...${{ config, onDone }} />
    ${can("conversions:read") && html`<${Arrival} config=${config} />`}
    ${
      script.data &&
      snippets(location.origin, config, script.data).map(
        ([title, text]) => html`<${CodeBlock}
          title=${title}
          label="the snippet: ${title}"
          text=${text}
        />`,
      )
    }
    <${ErrorNote} error=${error || script.error} />
  <//>`;
}

/** The URL for a network, with its macros and the names of the configuration. */
function Postback({ config, onDone }) {
  const [chosen, setChosen] = useState("");
  const network = NETWORKS.find(({ name }) => name === chosen);
  return html`
    <${Select}
      label="Network"
      value=${chosen}
      options=${[["", "Any"], ...NETWORKS.map(({ name }) => [name, name])]}
      onInput=${setChosen}
    />
    <${CodeBlock}
      title="Postback URL, for a network"
      label="the snippet: Postback URL, for a network"
      text=${postbackUrl(location.origin, config, network?.macros)}
    />
    ${
      network &&
      html`<p class="hint">
        Its own link has to bring the click id, as <code>${network.takes}=${"{click_id}"}</code>: add
        that to the destination of your link. These are the macros of its documentation; look whether
        it names them differently for you.
      </p>`
    }
    ${network && html`<${Words} key=${chosen} ...${{ config, network, onDone }} />`}
  `;
}

/** The words that a network has for a status, while the configuration does not know them. */
function Words({ config, network, onDone }) {
  const [statuses, setStatuses] = useState(config.statuses);
  const missing = missingWords(network, statuses);
  const [add, busy, error] = useAction(async () => {
    const changed = { statuses: { ...statuses, ...missing } };
    setStatuses((await api.patch(`/api/event-configs/${config.id}`, changed)).statuses);
    onDone();
  });
  const words = Object.entries(missing);
  if (!words.length) return html`<${ErrorNote} error=${error} />`;
  return html`
    <p class="row">
      It says ${words.map(([word, meaning]) => `${word} for ${meaningWord(meaning)}`).join(", ")}.
      <${Button} busy=${busy} onClick=${add}>Add these words<//>
    </p>
    <${ErrorNote} error=${error} />
  `;
}

/** What has arrived since the dialog was opened: the newest conversion, or what was refused. */
function Arrival({ config }) {
  const before = useRef(null);
  const found = useLoad(async (signal) => {
    const rows = await newest(config, signal);
    before.current ??= rows.map(idOf);
    return { last: rows[0], arrived: rows.filter((row) => !before.current.includes(idOf(row))) };
  }, []);
  const { last, arrived = [] } = found.data ?? {};
  const conversion = arrived.find((row) => row.event_id);
  usePoll(found, !conversion, POLL_MS);
  if (conversion)
    return html`<div class="note good" role="status">
      <p>
        Received: value ${format.money(conversion.value)}.
        <a href="/console/conversions/${conversion.event_id}">See it</a>
        ${conversion.warnings?.map((one) => html`<br />${one}`)}
      </p>
    </div>`;
  if (arrived.length)
    return html`<div class="note bad" role="status">
      <p>Refused: ${arrived[0].error}. <a href="/console/conversions/refused">See it</a></p>
    </div>`;
  return html`<p class="hint" role="status">
    ${
      last?.event_id
        ? html`The last conversion came <${Time} at=${last.at} />. Waiting for the next…`
        : "Waiting for the first postback…"
    }
  </p>`;
}

function idOf(row) {
  return row.event_id ?? row.id;
}

/** Return the newest conversion of the configuration, and the newest refused requests of it. */
async function newest(config, signal) {
  const [conversions, refused] = await Promise.all([
    api.get("/api/conversions", { event: config.id, pageSize: 1 }, signal),
    api.get("/api/refused-postbacks", { pageSize: 5 }, signal),
  ]);
  const isOwn = ({ event_config: of }) => (of?.id ?? config.id) === config.id;
  return [...conversions.rows, ...refused.rows.filter(isOwn)];
}
