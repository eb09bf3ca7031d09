/** Dialogs of one webhook: what a test has brought, a new secret, and its deletion. */

import { api } from "console/core/api";
import { format } from "console/core/format";
import { useAction } from "console/core/hooks";
import { html } from "console/core/html";
import { Badge, Button, ErrorNote } from "console/core/parts";
import { navigate } from "console/core/route";
import { CodeBlock } from "console/parts/code";
import { ConfirmDeletion, Dialog } from "console/parts/dialog";
import { pretty } from "console/webhooks/form";
import { requestText } from "console/webhooks/headers";

export function TestDialog({ webhook, result, onClose }) {
  const { delivered, payload, url, headers, attempt } = result;
  const footer = html`<${Button} kind="main" onClick=${onClose}>Close<//>`;
  return html`<${Dialog}
    title=${delivered ? "The receiver took it" : "The receiver did not take it"}
    wide
    ...${{ footer, onClose }}
  >
    <dl class="facts">
      <dt>Answer</dt>
      <dd>
        ${
          attempt.code
            ? html`<${Badge} kind=${delivered ? "good" : "bad"}>
              ${attempt.code}
            <//>`
            : html`<${Badge} kind="bad">none<//>`
        }
        ${" "}${attempt.error}
      </dd>
      <dt>Time</dt>
      <dd>${format.number(attempt.milliseconds)} ms</dd>
    </dl>
    ${
      attempt.answer &&
      html`<${CodeBlock} title="What it said" text=${attempt.answer} label="the answer" />`
    }
    <${CodeBlock}
      title="What was sent"
      text=${requestText(webhook.method, url, headers)}
      label="the request"
    />
    <${CodeBlock} title="Its payload" text=${pretty(payload)} label="the payload" />
  <//>`;
}

export function RotateDialog({ webhook, onClose, onRotated }) {
  const [rotate, busy, error] = useAction(async () =>
    onRotated(await api.post(`/api/webhooks/${webhook.id}/secret`)),
  );
  return html`<${Dialog}
    title="Rotate the secret?"
    action="Make a new secret"
    ...${{ busy, onClose }}
    onSubmit=${rotate}
  >
    <p>
      For a day deliveries are signed with the old secret too, so your receiver has time to change.
    </p>
    <${ErrorNote} error=${error} />
  <//>`;
}

export function DeleteDialog({ webhook, onClose }) {
  return html`<${ConfirmDeletion}
    title="Delete “${webhook.name}”?"
    action="Delete the webhook"
    path="/api/webhooks/${webhook.id}"
    done="“${webhook.name}” is deleted"
    ...${{ onClose, onDone: () => navigate("/console/webhooks") }}
  >
    <p>What is waiting is not sent, and its deliveries are no longer listed.</p>
  <//>`;
}
