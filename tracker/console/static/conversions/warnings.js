/** Warnings of conversions: what the service ignored, and the way to name it. */

import { api } from "console/core/api";
import { format } from "console/core/format";
import { useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { Icon } from "console/core/parts";
import { can } from "console/core/session";
import { queryText } from "console/core/url";

const IGNORED = /^([\w.-]{1,64}): ignored; did you mean (click_id|transaction_id|value)\?$/;

/** Return where an ignored parameter is added to the names of `config`; null if that is no way. */
function namingAddress(warning, config) {
  const found = config && IGNORED.exec(warning);
  if (!found) return null;
  const [, name, parameter] = found;
  return `/console/events${queryText({ edit: config.id, name, parameter })}`;
}

/** A warning, with a link that adds the ignored parameter to the names of its configuration. */
export function Warning({ warning, config }) {
  const address = can("event_configs:write") && namingAddress(warning, config);
  return html`${warning} ${address && html`<a href=${address}>Add it as a name</a>`}`;
}

/** The most frequent warnings of the last days, if there are some. */
export function WarningsNote() {
  const { data } = useLoad((signal) => api.get("/api/conversions/warnings", {}, signal), []);
  if (!data?.rows.length) return null;
  return html`<div class="note warning" role="status">
    <${Icon} name="warning" />
    <div>
      <p>Conversions of the last 7 days have warnings:</p>
      <ul>
        ${data.rows.slice(0, 5).map(
          ({ conversions, event_config: config, warning }) => html`<li>
            ${format.number(conversions)}${config && ` of “${config.name}”`}:${" "}
            <${Warning} ...${{ warning, config }} />
          </li>`,
        )}
      </ul>
    </div>
  </div>`;
}
