/** One webhook: its settings, a test, and its deliveries with every attempt. */

import { useState } from "preact/hooks";
import { api } from "console/core/api";
import { daysFromNow } from "console/core/dates";
import { format } from "console/core/format";
import { useAction, useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { Pagination } from "console/core/lists";
import {
  Button,
  Choice,
  ErrorNote,
  OutLink,
  PageHeader,
  Skeleton,
  Time,
  lazy,
} from "console/core/parts";
import { route, setQuery } from "console/core/route";
import { can } from "console/core/session";
import { toast } from "console/core/toasts";
import { CodeBlock } from "console/parts/code";
import { usePoll } from "console/parts/poll";
import { WebhookState } from "console/pages/webhooks";
import { Deliveries } from "console/webhooks/deliveries";
import { filterText } from "console/webhooks/filter";
import { SecretDialog, WebhookDialog } from "console/webhooks/form";
import { TestDialog, RotateDialog, DeleteDialog } from "console/webhooks/dialogs";

const DeliveryCharts = lazy("console/webhooks/delivery-charts", "DeliveryCharts");
const BACK = { href: "/console/webhooks", label: "Webhooks" };
const statesOf = (counts) => [
  ["", "All"],
  ["due", counted("Waiting or failing", counts?.due)],
  ["failing", counted("Failing", counts?.failing)],
  ["delivered", "Delivered"],
  ["failed", "Failed"],
  ["cancelled", "Cancelled"],
];
const counted = (name, number) => (number ? `${name} (${format.number(number)})` : name);
const RETRY_DAYS = 30;
const TESTS = {
  "conversion.updated": "Test a change",
  "click.recorded": "Test clicks",
  "link.created": "Test a new link",
  "link.changed": "Test a changed link",
};
const POLL_MS = 5_000;

/** The page. The filter of the deliveries is in the URL. */
export default function WebhookPage({ params }) {
  const path = `/api/webhooks/${params.id}`;
  const { page, status } = route.value.query;
  const webhook = useLoad((signal) => api.get(path, {}, signal), [path]);
  const deliveries = useLoad(
    (signal) => api.get(`${path}/deliveries`, { page, status }, signal),
    [path, page, status],
  );
  const [open, setOpen] = useState(null);
  usePoll(
    deliveries,
    deliveries.data?.rows.some((one) => one.status === "due"),
    POLL_MS,
  );
  if (!webhook.data)
    return html`
      <${PageHeader} title="Webhook" back=${BACK} />
      ${
        webhook.error
          ? html`<${ErrorNote} error=${webhook.error} retry=${webhook.reload} />`
          : html`<${Skeleton} lines=${6} />`
      }
    `;
  const dialog = {
    ...open,
    webhook: webhook.data,
    onClose: () => setOpen(null),
    onDone: (saved) => webhook.set(() => saved),
  };
  const mayWrite = can("webhooks:write");
  const state = deliveries.data?.webhook;
  const { active } = { ...webhook.data, ...state };
  return html`
    <${PageHeader} title=${webhook.data.name} back=${BACK}>
      ${
        mayWrite &&
        html`<${Actions}
          webhook=${{ ...webhook.data, active }}
          path=${path}
          setOpen=${setOpen}
          onChanged=${(saved) => {
            dialog.onDone(saved);
            deliveries.reload();
          }}
        />`
      }
    <//>
    <${Facts} webhook=${{ ...webhook.data, ...state }} />
    ${state && html`<${DeliveryCharts} path=${path} counts=${`${state.due} ${state.failing}`} />`}
    <header class="row between">
      <h2>Deliveries</h2>
      <div class="row">
        <${Choice}
          label="State of the deliveries"
          value=${status ?? ""}
          options=${statesOf(state)}
          onInput=${(value) => setQuery({ status: value, page: null })}
        />
        <${Button} icon="refresh" label="Load the deliveries again" onClick=${deliveries.reload} />
        ${
          mayWrite &&
          html`
            ${state?.due > 0 && html`<${SendNow} ...${{ path, active }} reload=${deliveries.reload} />`}
            <${RetryAll} ...${{ path, active }} reload=${deliveries.reload} />
          `
        }
      </div>
    </header>
    <${Deliveries}
      load=${deliveries}
      retryPath=${mayWrite && active ? (one) => `${path}/deliveries/${one.id}/retry` : null}
    />
    <${Pagination} pagination=${deliveries.data?.pagination} noun="delivery" plural="deliveries" />
    ${open?.kind === "form" && html`<${WebhookDialog} ...${dialog} />`}
    ${open?.kind === "test" && html`<${TestDialog} ...${dialog} />`}
    ${
      open?.kind === "secret" &&
      html`<${SecretDialog} webhook=${open.rotated} onClose=${dialog.onClose} />`
    }
    ${
      open?.kind === "rotate" &&
      html`<${RotateDialog}
        ...${dialog}
        onRotated=${(rotated) => setOpen({ kind: "secret", rotated })}
      />`
    }
    ${open?.kind === "delete" && html`<${DeleteDialog} ...${dialog} />`}
  `;
}

function Actions({ webhook, path, setOpen, onChanged }) {
  const [setActive, busy] = useAction(async (active) => {
    try {
      onChanged(await api.patch(path, { active }));
      toast(active ? "Active: new conversions are sent" : "Paused: new conversions are not sent");
    } catch (error) {
      toast(error.message, { kind: "bad" });
    }
  });
  const [test, testing] = useAction(async (event) => {
    try {
      setOpen({ kind: "test", result: await api.post(`${path}/test?event=${event}`) });
    } catch (error) {
      toast(error.message, { kind: "bad" });
    }
  });
  return html`
    <${Button} busy=${testing} onClick=${() => test(webhook.events[0])}>Send a test<//>
    ${webhook.events.slice(1).map(
      (kind) =>
        TESTS[kind] &&
        html`<${Button} key=${kind} busy=${testing} onClick=${() => test(kind)}>
          ${TESTS[kind]}
        <//>`,
    )}
    <${Button} busy=${busy} onClick=${() => setActive(!webhook.active)}>
      ${webhook.active ? "Pause" : "Activate"}
    <//>
    <${Button} icon="key" onClick=${() => setOpen({ kind: "rotate" })}>Rotate the secret<//>
    <${Button}
      kind="danger"
      icon="trash"
      label="Delete the webhook"
      onClick=${() => setOpen({ kind: "delete" })}
    />
    <${Button} kind="main" icon="edit" onClick=${() => setOpen({ kind: "form" })}>Edit<//>
  `;
}

function Facts({ webhook }) {
  return html`<section class="card">
    <div class="columns">
      <dl class="facts">
        <dt>Target</dt>
        <dd>
          ${webhook.method}${" "}
          ${can("webhooks:write") ? html`<${OutLink} url=${webhook.target_url} />` : webhook.target_url}
          ${webhook.warnings.map((one) => html`<p class="note warning">${one}</p>`)}
        </dd>
        <dt>State</dt>
        <dd>
          <${WebhookState} webhook=${webhook} />
          ${webhook.disabled_at && html` <${Time} at=${webhook.disabled_at} />`}
        </dd>
        ${
          Object.keys(webhook.headers).length > 0 &&
          html`
            <dt>Headers</dt>
            <dd>${Object.keys(webhook.headers).join(", ")}</dd>
          `
        }
        <dt>Gets</dt>
        <dd>${webhook.events.join(", ")}</dd>
        ${
          filterText(webhook.filter) &&
          html`
            <dt>Only</dt>
            <dd>${filterText(webhook.filter)}</dd>
          `
        }
        ${
          webhook.skipped > 0 &&
          html`
            <dt>Skipped</dt>
            <dd>${format.number(webhook.skipped)} clicks and links: too many waited</dd>
          `
        }
        <dt>Created</dt>
        <dd><${Time} at=${webhook.created_at} exact /></dd>
      </dl>
      <${CodeBlock}
        title="Payload"
        text=${JSON.stringify(webhook.payload_template, null, 2)}
        label="the template"
      />
    </div>
  </section>`;
}

/** A button that sends again what failed in the last days. */
function RetryAll(given) {
  const since = daysFromNow(-RETRY_DAYS).toISOString();
  const words = { label: "Retry all that failed", done: "sent again", none: "Nothing had failed" };
  return html`<${SendMany} ...${{ ...given, ...words, action: "retry", body: { since } }} />`;
}

function SendNow(given) {
  const words = { label: "Send all that wait now", done: "sent now", none: "Nothing waits" };
  return html`<${SendMany} ...${{ ...given, ...words, action: "send" }} />`;
}

function SendMany({ path, active, reload, action, body, label, done, none }) {
  const [send, busy] = useAction(async () => {
    try {
      const { deliveries } = await api.post(`${path}/deliveries/${action}`, body);
      const number = format.count(deliveries, "delivery is", "deliveries are");
      toast(deliveries ? `${number} ${done}` : none);
      reload();
    } catch (error) {
      toast(error.message, { kind: "bad" });
    }
  });
  return html`<${Button} busy=${busy} disabled=${!active} onClick=${send}>${label}<//>`;
}
