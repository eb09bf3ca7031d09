/** What an id or a postback URL finds, beside the conversions that have it. */

import { signal } from "@preact/signals";
import { api, owned } from "console/core/api";
import { format } from "console/core/format";
import { useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { ErrorNote, Icon } from "console/core/parts";
import { navigate } from "console/core/route";
import { queryText } from "console/core/url";
import { Warning } from "console/conversions/warnings";

/** The postback URL to check. It has a key, so it is in no address of the console. */
export const sought = signal("");

export const isPostback = (text = "") => text.includes("=") && /[?&]/.test(text);

/** Show on the page of conversions what an id or a postback URL finds. */
export function seek(text) {
  sought.value = isPostback(text) ? text : "";
  navigate(`/console/conversions${queryText({ find: sought.value ? "" : text })}`, {
    replace: location.pathname === "/console/conversions",
  });
}

/** What a postback would do, in words. */
export function PostbackNote({ url }) {
  const { data, error } = useLoad(
    (signal) => api.post("/api/postbacks/check", owned({ url }), { signal }),
    [url],
  );
  if (!data) return html`<${ErrorNote} error=${error} />`;
  const { click_id: click, event_config: config, error: refused, repeat_of: first } = data;
  const kind = refused ? "bad" : click && !data.warnings.length ? "good" : "warning";
  return html`<div class="note ${kind}" role="status">
    <${Icon} name=${kind === "good" ? "check" : "warning"} />
    <div>
      <p>${data.summary} Nothing was recorded.</p>
      ${data.warnings.map((warning) => html`<p><${Warning} ...${{ warning, config }} /></p>`)}
      ${click && html`<p><a href="/console/clicks/${click}">The click</a></p>`}
      ${first && html`<p><a href="/console/conversions/${first}">Conversion ${first}</a></p>`}
    </div>
  </div>`;
}

/** The click and the refused postbacks that an id finds. */
export function FoundNote({ found: { click, refused }, text }) {
  if (!click && !refused.length) return null;
  return html`<div class="note" role="status">
    <${Icon} name="search" />
    <p>
      ${click && html`<a href="/console/clicks/${click.id}">The click of ${click.link?.internal_name}</a>`}
      ${" "}
      ${
        refused.length > 0 &&
        html`<a href="/console/conversions/refused${queryText({ search: text })}">
          ${format.count(refused.length, "refused postback")}
        </a>`
      }
    </p>
  </div>`;
}
