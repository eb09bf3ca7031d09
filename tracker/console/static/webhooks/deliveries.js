/** Deliveries to webhooks, each with its attempts. */

import { api } from "console/core/api";
import { format } from "console/core/format";
import { useAction } from "console/core/hooks";
import { html } from "console/core/html";
import { Badge, Button, Empty, ErrorNote, Skeleton, Time } from "console/core/parts";
import { toast } from "console/core/toasts";
import { CodeBlock } from "console/parts/code";

const KINDS = {
  delivered: "good",
  failed: "bad",
  waiting: "accent",
  failing: "bad",
  cancelled: "quiet",
};

/**
 * A list of deliveries. `load` is the answer of `useLoad`; `retryPath(delivery)` is where one is
 * sent again, null if the reader may not.
 */
export function Deliveries({ load, retryPath }) {
  const rows = load.data?.rows;
  if (load.error) return html`<${ErrorNote} error=${load.error} retry=${load.reload} />`;
  if (!rows) return html`<div class="card"><${Skeleton} lines=${4} /></div>`;
  if (!rows.length)
    return html`<${Empty} title="No deliveries">
      <p>They are listed here for 30 days after they were sent.</p>
    <//>`;
  return html`<div class="stack close">
    ${rows.map(
      (one) => html`<${Delivery}
        key=${one.id}
        delivery=${one}
        retryPath=${retryPath}
        reload=${load.reload}
      />`,
    )}
  </div>`;
}

function Delivery({ delivery, retryPath, reload }) {
  const { attempts, kind, event_id: eventId, webhook_name: name, webhook_id: webhook } = delivery;
  const last = attempts.at(-1);
  const state = delivery.failing
    ? "failing"
    : delivery.status === "due"
      ? "waiting"
      : delivery.status;
  return html`<details class="card delivery">
    <summary>
      <${Badge} kind=${KINDS[state]}>${state}<//>
      <strong>${name ?? (eventId === null ? kind : `Conversion ${eventId}`)}</strong>
      ${delivery.clicks && format.count(delivery.clicks, "click")}
      ${kind === "conversion.updated" && html`<${Badge}>change<//>`}
      <span class="faint">
        ${format.count(attempts.length, "attempt")}
        ${last && ` · ${outcome(last)}`}
      </span>
      <${Time} at=${delivery.created_at} />
    </summary>
    ${
      delivery.next_attempt_at &&
      html`<p>Next attempt <${Time} at=${delivery.next_attempt_at} /></p>`
    }
    ${
      attempts.length > 0 &&
      html`<ol class="attempts">
        ${attempts.map(
          (attempt) => html`<li>
            <p>
              <strong>${outcome(attempt)}</strong>${" "}
              <span class="faint">after ${format.number(attempt.milliseconds)} ms,</span>${" "}
              <${Time} at=${attempt.at} exact />
            </p>
            ${attempt.answer && html`<${CodeBlock} text=${attempt.answer} label="the answer" />`}
          </li>`,
        )}
      </ol>`
    }
    ${delivery.url && html`<${CodeBlock} title="URL" text=${delivery.url} label="the URL" />`}
    ${
      delivery.payload &&
      html`<${CodeBlock} title="Payload" text=${delivery.payload} label="the payload" />`
    }
    <div class="row between">
      ${
        webhook
          ? html`<a href="/console/webhooks/${webhook}">
            ${name}
          </a>`
          : eventId !== null &&
            html`<a href="/console/conversions/${eventId}">Conversion ${eventId}</a>`
      }
      ${retryPath && html`<${RetryButton} path=${retryPath(delivery)} reload=${reload} />`}
    </div>
  </details>`;
}

function RetryButton({ path, reload }) {
  const [retry, busy, error] = useAction(async () => {
    await api.post(path);
    toast("It is sent again");
    reload();
  });
  return html`
    <${Button} icon="refresh" busy=${busy} onClick=${retry}>Send again<//>
    <${ErrorNote} error=${error} />
  `;
}

function outcome({ code, error }) {
  return error ?? (code === null ? "no answer" : `answered ${code}`);
}
