/** Start: leads a new account through a link, a click, and a conversion, with what it has by now. */

import {
  Button, ErrorNote, OutLink, PageHeader, Skeleton, Time, api, can, format, html, lastRange, lazy, owned, toast, useAction, useLoad,
  useState,
} from "console/core";
import { CodeBlock } from "console/parts/code";
import { rows } from "console/parts/live";
import { usePoll } from "console/parts/poll";

const LinkDialog = lazy("console/parts/link-form", "LinkDialog");
const POLL_MS = 2_000;

/** The page. It looks every two seconds, while it is seen, whether the next step is done. */
export default function Start() {
  const state = useLoad(progress, []);
  const { link, clicks, config, conversions } = state.data ?? {};
  const done = [Boolean(link), clicks > 0, clicks > 0, conversions > 0, conversions > 0];
  usePoll(state, !done.every(Boolean), POLL_MS);
  const current = done.indexOf(false);
  const kind = (step) => (done[step] ? "done" : step === current ? "current" : "");
  return html`
    <${PageHeader} title="How it works" about="From a link to a report, with real data." />
    <${ErrorNote} error=${state.error} retry=${state.reload} />
    ${!state.data && !state.error && html`<div class="card"><${Skeleton} lines=${6} /></div>`}
    ${state.data && html`<ol class="steps card">
      <li class=${kind(0)}><div><h2>Create a link</h2><${LinkStep} link=${link} reload=${state.reload} /></div></li>
      <li class=${kind(1)}><div><h2>Open it</h2><${ClickStep} link=${link} clicks=${clicks} /></div></li>
      <li class=${kind(2)}><div><h2>See it live</h2><${LiveStep} clicks=${clicks} /></div></li>
      <li class=${kind(3)}><div><h2>Send a test conversion</h2><${ConversionStep} ...${{ clicks, config, conversions }} reload=${state.reload} /></div></li>
      <li class=${kind(4)}><div><h2>See it in the report</h2><${ReportStep} conversions=${conversions} /></div></li>
    </ol>`}
    ${done.every(Boolean) && html`<div class="note good" role="status"><p>That is all there is to it. <a href="/console/overview">Go to the overview</a></p></div>`}`;
}

/** Return what the account has: its newest link, clicks and conversions of today and yesterday. */
async function progress(signal) {
  const [links, configs] = await Promise.all([
    api.get("/api/short-links", { pageSize: 1 }, signal),
    can("event_configs:read") ? api.get("/api/event-configs", { pageSize: 1 }, signal) : { rows: [] },
  ]);
  const report = await api.post("/api/reports", owned({ dateRange: lastRange(2), groupBy: "day", filters: { bots: "include" } }));
  const { clicks, conversions } = report.totals;
  return { link: links.rows[0], config: configs.rows[0], clicks, conversions };
}

function LinkStep({ link, reload }) {
  const [open, setOpen] = useState(false);
  if (link) return html`<p><strong>${link.internal_name}</strong> is at <${OutLink} url=${link.short_url} /></p>`;
  return html`
    <p>It leads wherever you like. Every click on the way is recorded.</p>
    ${can("links:write") && html`<${Button} kind="main" icon="plus" onClick=${() => setOpen(true)}>Create a link<//>`}
    ${open && html`<${LinkDialog} onClose=${() => setOpen(false)} onDone=${reload} />`}`;
}

function ClickStep({ link, clicks }) {
  if (!link) return html`<p class="about">First create a link.</p>`;
  if (clicks > 0) return html`<p>${format.count(clicks, "click")} since yesterday.</p>`;
  return html`
    <p>Your visitor lands on the destination, with a <code>click_id</code> in its address.</p>
    <a class="button main" href=${link.short_url} target="_blank" rel="noopener noreferrer">Open ${link.short_url}</a>
    <p class="hint" role="status">Waiting for the click…</p>`;
}

/** The last click that landed, told without a reload. */
function LiveStep({ clicks }) {
  const last = rows.value.find(({ kind }) => kind === "click")?.row;
  const device = last && [last.browser, last.os].filter((one) => one !== "unknown").join(" on ");
  return html`
    ${last && html`<p role="status">${device || "A click"}, <${Time} at=${last.at} />.</p>`}
    ${clicks ? html`<p><a href="/console/live">Watch clicks come in</a></p>` : !last && html`<p class="about">First open the link.</p>`}`;
}

function ReportStep({ conversions }) {
  if (!conversions) return html`<p class="about">First send a conversion.</p>`;
  return html`<p><a href="/console/overview?period=today&measure=conversions&bots=include">Today’s report</a> has both, by country, device, referrer and more.</p>`;
}

function ConversionStep({ clicks, config, conversions, reload }) {
  const [create, creating, createError] = useAction(async () => {
    await api.post("/api/event-configs", owned({ name: "Purchase", payout_type: "CPA", payout: 1 }));
    reload();
  });
  const [send, sending, sendError] = useAction(async () => {
    await api.get("/api/event", { pbk: config.pbk, value: 12.5, transaction_id: `test-${Date.now()}` });
    toast("Sent; it counts in a moment");
    reload();
  });
  if (conversions > 0) return html`<p>${format.count(conversions, "conversion")} since yesterday. <a href="/console/conversions">See them</a></p>`;
  if (!clicks) return html`<p class="about">First open the link.</p>`;
  if (!config) {
    return html`
      <p>An event configuration says what a conversion is, and what it pays. It has a postback key, which names it in every request.</p>
      ${can("event_configs:write") && html`<${Button} kind="main" busy=${creating} onClick=${create}>Create “Purchase”<//>`}
      <${ErrorNote} error=${createError} />`;
  }
  if (!can("event_configs:write")) return html`<p class="about">Somebody who may change event configurations has the address that your shop or network calls.</p>`;
  return html`
    <p>Your shop or network calls this address. Add <code>&click_id=…</code> from the visitor’s address to count it under the link.</p>
    <${CodeBlock} text="${location.origin}/api/event?pbk=${config.pbk}&value=12.50" label="the address" />
    <${Button} kind="main" busy=${sending} onClick=${send}>Send a test conversion<//>
    <${ErrorNote} error=${sendError} />`;
}
