/** One conversion: its state, its click, its metadata, and its deliveries. */

import { useState } from "preact/hooks";
import { api } from "console/core/api";
import { format } from "console/core/format";
import { useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { Button, ErrorNote, PageHeader, Skeleton, Time } from "console/core/parts";
import { can } from "console/core/session";
import { JsonViewer } from "console/parts/json";
import { Click } from "console/conversions/click";
import { CorrectionDialog, History } from "console/conversions/correction";
import { ConversionState, ConversionStatus, STATES, STATUSES } from "console/conversions/states";
import { Warning } from "console/conversions/warnings";
import { Deliveries } from "console/webhooks/deliveries";

const UNCOUNTED = ["duplicate", "refused", "test"];
const BACK = { href: "/console/conversions", label: "Conversions" };

/** The page. */
export default function ConversionPage({ params }) {
  const conversion = useLoad(
    (signal) => api.get(`/api/conversions/${encodeURIComponent(params.id)}`, {}, signal),
    [params.id],
  );
  const { data } = conversion;
  const [open, setOpen] = useState(false);
  const mayCorrect = data && can("conversions:write") && !UNCOUNTED.includes(data.attribution);
  return html`
    <${PageHeader} title="Conversion ${params.id}" back=${BACK}>
      ${mayCorrect && html`<${Button} icon="edit" onClick=${() => setOpen(true)}>Correct<//>`}
    <//>
    ${
      open &&
      html`<${CorrectionDialog}
        conversion=${data}
        onDone=${(corrected) => conversion.set(() => corrected)}
        onClose=${() => setOpen(false)}
      />`
    }
    <${ErrorNote} error=${conversion.error} retry=${conversion.reload} />
    ${!data && !conversion.error && html`<div class="card"><${Skeleton} lines=${6} /></div>`}
    ${
      data &&
      html`
        <div class="columns"><${Facts} conversion=${data} /><${Click} conversion=${data} /></div>
        <${History} changes=${data.changes} />
        ${
          data.metadata &&
          html`<section class="card">
            <h2>Metadata</h2>
            <${JsonViewer} text=${data.metadata} label="the metadata" />
          </section>`
        }
        ${
          data.deliveries &&
          html`
            <h2>Deliveries</h2>
            <${Deliveries}
              load=${{ data: { rows: data.deliveries }, reload: conversion.reload }}
              retryPath=${can("webhooks:write") ? retryPath : null}
            />
          `
        }
      `
    }
  `;
}

function retryPath({ id, webhook_id: webhook }) {
  return `/api/webhooks/${webhook}/deliveries/${id}/retry`;
}

function Facts({ conversion }) {
  const { event_config: config, transaction_id: transaction } = conversion;
  return html`<section class="card">
    <h2>The conversion</h2>
    <dl class="facts">
      <dt>Status</dt>
      <dd>
        <${ConversionStatus} conversion=${conversion} />
        <p class="hint">${STATUSES[conversion.status]?.[1]}</p>
      </dd>
      <dt>State</dt>
      <dd>
        <${ConversionState} conversion=${conversion} />
        <p class="hint">${STATES[conversion.attribution]?.[1]}</p>
      </dd>
      ${
        conversion.at !== conversion.received_at &&
        html`<dt>Occurred</dt><dd><${Time} at=${conversion.at} exact /></dd>`
      }
      <dt>Received</dt>
      <dd><${Time} at=${conversion.received_at} exact /></dd>
      <dt>Event</dt>
      <dd>${config ? config.name : html`<span class="faint">none</span>`}</dd>
      <dt>Value</dt>
      <dd>
        ${format.money(conversion.value)} ${conversion.value !== null && conversion.currency}
      </dd>
      ${
        conversion.refunded_value !== null &&
        html`<dt>Refunded</dt><dd>${format.money(conversion.refunded_value)}</dd>`
      }
      <dt>Payout</dt>
      <dd>${format.money(conversion.payout)}</dd>
      <dt>Transaction</dt>
      <dd>
        ${transaction ? html`<code>${transaction}</code>` : html`<span class="faint">none</span>`}
        ${
          conversion.repeats > 0 &&
          html`<p class="hint">
            Sent again ${format.count(conversion.repeats, "time")}, last${" "}
            <${Time} at=${conversion.last_repeat_at} exact />
          </p>`
        }
      </dd>
      ${conversion.consent && html`<dt>Consent</dt><dd>${conversion.consent}</dd>`}
      ${
        conversion.warnings.length > 0 &&
        html`
          <dt>Warnings</dt>
          <dd>
            ${conversion.warnings.map(
              (warning) => html`<p><${Warning} ...${{ warning, config }} /></p>`,
            )}
          </dd>
        `
      }
    </dl>
  </section>`;
}
