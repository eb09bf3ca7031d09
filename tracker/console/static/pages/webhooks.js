/** Webhooks: the receivers of conversions, and whether they get them. */

import { useCallback, useEffect, useState } from "preact/hooks";
import { api } from "console/core/api";
import { useLoad, useShortcut } from "console/core/hooks";
import { html } from "console/core/html";
import { Pagination, Table } from "console/core/lists";
import { Badge, Button, Empty, OutLink, PageHeader, Time, lazy } from "console/core/parts";
import { navigate, route } from "console/core/route";
import { can, session } from "console/core/session";

const Rules = lazy("console/webhooks/rules", "Rules");
const WebhookDialog = lazy("console/webhooks/form", "WebhookDialog");

/** The page. */
export default function Webhooks() {
  const { page } = route.value.query;
  const webhooks = useLoad((signal) => api.get("/api/webhooks", { page }, signal), [page]);
  const [creating, setCreating] = useState(false);
  const rows = webhooks.data?.rows;
  useEffect(() => rows && tellMenu(rows), [rows]);
  const mayWrite = can("webhooks:write");
  const create = useCallback(() => mayWrite && setCreating(true), [mayWrite]);
  useShortcut("c", "Create a webhook", create);
  return html`
    <${PageHeader}
      title="Webhooks"
      about="Every conversion is sent to your receivers: signed, and again until it arrives."
    >
      ${mayWrite && html`<${Button} kind="main" icon="plus" onClick=${create}>New webhook<//>`}
    <//>
    <${Table}
      caption="Webhooks"
      load=${webhooks}
      columns=${COLUMNS}
      empty=${html`<${NoWebhooks} create=${mayWrite && create} />`}
    />
    <${Pagination} pagination=${webhooks.data?.pagination} noun="webhook" />
    ${rows?.length > 0 && html`<${Rules} webhooks=${rows} />`}
    ${
      creating &&
      html`<${WebhookDialog}
        onClose=${() => setCreating(false)}
        onDone=${webhooks.reload}
        onLeave=${(id) => navigate(`/console/webhooks/${id}`)}
      />`
    }
  `;
}

/** Show in the menu how many webhooks fail now. An account has fewer than a page. */
function tellMenu(rows) {
  const failing = rows.filter((one) => (one.active ? one.failing_since : one.disabled_reason));
  const { account, ...others } = session.value;
  session.value = { ...others, account: { ...account, failing_webhooks: failing.length } };
}

const COLUMNS = [
  {
    label: "Name",
    wide: true,
    cell: (one) =>
      html`<span class="main-cell"><a href="/console/webhooks/${one.id}">${one.name}</a></span>`,
  },
  {
    label: "Target",
    cell: (one) => {
      const shown = one.target_url.replace(/^https?:\/\//, "");
      return html`<span class="truncate destination">
        ${one.method}${" "}
        ${can("webhooks:write") ? html`<${OutLink} url=${one.target_url}>${shown}<//>` : shown}
      </span>`;
    },
  },
  { label: "Gets", cell: ({ events }) => events.join(", ") },
  { label: "State", cell: (one) => html`<${WebhookState} webhook=${one} />` },
  { label: "Created", cell: (one) => html`<${Time} at=${one.created_at} />` },
];

const REASONS = {
  gone: "its receiver answered 410 Gone",
  failing: "every attempt of five days failed",
};

/** The state of a webhook, and why the service has disabled it. */
export function WebhookState({ webhook }) {
  const { failing_since: since } = webhook;
  if (webhook.active && since)
    return html`<span>
      <${Badge} kind="warning">failing<//> <span class="hint">since <${Time} at=${since} /></span>
    </span>`;
  if (webhook.active) return html`<${Badge} kind="good">active<//>`;
  if (!webhook.disabled_reason) return html`<${Badge} kind="warning">paused<//>`;
  return html`<span>
    <${Badge} kind="bad">disabled<//> <span class="hint">${REASONS[webhook.disabled_reason] ?? webhook.disabled_reason}</span>
  </span>`;
}

function NoWebhooks({ create }) {
  const action =
    create && html`<${Button} kind="main" icon="plus" onClick=${create}>Create the first one<//>`;
  return html`<${Empty} title="No webhooks yet" action=${action}>
    <p>
      A webhook sends each conversion to a server of yours or of your network, in the shape that it
      wants: <code>{"id": "{click_id}", "amount": "{value}"}</code>
    </p>
  <//>`;
}
