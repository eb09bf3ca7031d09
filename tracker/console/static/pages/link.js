/** One link: where it leads, its QR code, its last 30 days, and what was changed. */

import {
  Badge, Button, CopyButton, ErrorNote, OutLink, PageHeader, Skeleton, Tag, Time, api, can, format, html, lastDays, lazy,
  owned, session, toast, useAction, useEffect, useLoad, useState,
} from "console/core";
import { Bars } from "console/parts/bars";
import { Changes } from "console/parts/history";
import { QrCode } from "console/parts/link-qr";

const LinkDialog = lazy("console/parts/link-form", "LinkDialog");
const DAYS = 30;

/** The page. */
export default function Link({ params }) {
  const link = useLoad((signal) => api.get(`/api/short-links/${params.id}`, {}, signal), [params.id]);
  const history = useLoad((signal) => api.get(`/api/short-links/${params.id}/history`, {}, signal), [params.id]);
  const [editing, setEditing] = useState(false);
  const changed = (saved) => {
    link.set(() => saved);
    history.reload();
  };
  if (!link.data) return html`<${PageHeader} title="Link" back=${BACK} />${link.error ? html`<${ErrorNote} error=${link.error} retry=${link.reload} />` : html`<${Skeleton} lines=${6} />`}`;
  return html`
    <${PageHeader} title=${link.data.internal_name} back=${BACK}>
      <${Actions} link=${link.data} onEdit=${() => setEditing(true)} onChanged=${changed} />
    <//>
    <div class="columns link-facts"><${Facts} link=${link.data} /><section class="card"><h2>QR code</h2><${QrCode} link=${link.data} /></section></div>
    ${can("reports:read") && html`<${Days} link=${link.data} />`}
    <${History} history=${history} />
    ${editing && html`<${LinkDialog} link=${link.data} onClose=${() => setEditing(false)} onDone=${changed} />`}`;
}

const BACK = { href: "/console/links", label: "Links" };

function Actions({ link, onEdit, onChanged }) {
  const [act, busy] = useAction((work) => work().catch((error) => toast(error.message, { kind: "bad" })));
  const archive = async () => {
    await api.delete(`/api/short-links/${link.id}`);
    onChanged({ ...link, archived: true });
    toast(`“${link.internal_name}” is archived`, { action: { label: "Undo", run: () => act(restore) } });
  };
  const restore = async () => onChanged(await api.post(`/api/short-links/${link.id}/restore`));
  const setActive = (active) => async () => onChanged(await api.patch(`/api/short-links/${link.id}`, { active }));
  if (!can("links:write")) return null;
  if (link.archived) return html`<${Button} kind="main" icon="refresh" busy=${busy} onClick=${() => act(restore)}>Restore<//>`;
  return html`
    ${link.active && html`<a class="button" href=${testUrl(link)} target="_blank" rel="noopener noreferrer">Test click</a>`}
    <${Button} busy=${busy} onClick=${() => act(setActive(!link.active))}>${link.active ? "Pause" : "Activate"}<//>
    <${Button} kind="danger" icon="archive" busy=${busy} onClick=${() => act(archive)}>Archive<//>
    <${Button} kind="main" icon="edit" onClick=${onEdit}>Edit<//>`;
}

/** Return the address of a test click: an ordinary click that reports can tell from others. */
function testUrl(link) {
  const url = new URL(link.short_url);
  url.searchParams.set("utm_source", "test");
  return url.href;
}

function Facts({ link }) {
  return html`<section class="card">
    <h2>The link</h2>
    <dl class="facts">
      <dt>Short URL</dt><dd><span class="copy-value"><${OutLink} url=${link.short_url} /><${CopyButton} text=${link.short_url} label="Copy the short URL" /></span></dd>
      <dt>Destination</dt><dd><${OutLink} url=${link.destination_url} /></dd>
      <dt>State</dt><dd>${link.archived ? html`<${Badge}>archived<//>` : link.active ? html`<${Badge} kind="good">active<//>` : html`<${Badge} kind="warning">paused<//>`}</dd>
      <dt>Tags</dt><dd class="tags">${link.tags.length ? link.tags.map(({ name }) => html`<${Tag}>${name}<//>`) : html`<span class="faint">none</span>`}</dd>
      <dt>Created</dt><dd><${Time} at=${link.created_at} exact /></dd>
      <dt>Id</dt><dd><code>${link.id}</code></dd>
    </dl>
  </section>`;
}

/** The clicks and conversions of the last days, from one report by day. */
function Days({ link }) {
  const range = lastDays(DAYS);
  const report = useLoad(
    () => api.post("/api/reports", owned({ dateRange: { from: range[0], to: range.at(-1) }, groupBy: "day", filters: { link: link.id }, pageSize: 100 })),
    [link.id],
  );
  useEffect(() => {
    // Who comes back from a test click expects to see it.
    const again = () => document.hidden || report.reload();
    document.addEventListener("visibilitychange", again);
    return () => document.removeEventListener("visibilitychange", again);
  }, []);
  if (!report.data) return html`<section class="card"><h2>Last ${DAYS} days</h2>${report.error ? html`<${ErrorNote} error=${report.error} retry=${report.reload} />` : html`<${Skeleton} lines=${5} />`}</section>`;
  const { rows, totals } = report.data;
  const by = new Map(rows.map((row) => [row.key, row]));
  const series = (measure) => range.map((day) => ({ day, value: by.get(day)?.[measure] ?? 0 }));
  return html`<section class="card">
    <header class="row between"><h2>Last ${DAYS} days</h2><span class="hint">Days of ${session.value.account.time_zone}, without bots</span></header>
    <dl class="figures">
      <div><dt>Clicks</dt><dd>${format.number(totals.clicks)}</dd></div>
      <div><dt>Visitors</dt><dd>${format.number(totals.uniqueClicks)}</dd></div>
      <div><dt>Bots</dt><dd>${format.number(totals.botClicks)}</dd></div>
      <div><dt>Conversions</dt><dd>${format.number(totals.conversions)}</dd></div>
      <div><dt>Rate</dt><dd>${format.percent(totals.conversionRate)}</dd></div>
      <div><dt>Payout</dt><dd>${format.money(totals.payout)}</dd></div>
    </dl>
    <div class="columns">
      <${Bars} title="Clicks by day" noun="click" days=${series("clicks")} />
      <${Bars} title="Conversions by day" noun="conversion" days=${series("conversions")} />
    </div>
    ${can("conversions:read") && html`<p><a href="/console/conversions?link_id=${link.id}">Its conversions, one by one</a></p>`}
  </section>`;
}

function History({ history }) {
  const rows = history.data?.rows;
  return html`<section class="card">
    <h2>History</h2>
    <${ErrorNote} error=${history.error} retry=${history.reload} />
    ${!rows && !history.error && html`<${Skeleton} />`}
    ${rows?.length === 0 && html`<p class="about">No changes are recorded.</p>`}
    ${rows?.length > 0 && html`<ol class="history">
      ${rows.map((entry) => html`<li key=${entry.id}>
        <span><strong>${entry.actor.name}</strong> ${verb(entry.action)} <${Time} at=${entry.at} /></span>
        <${Changes} changes=${entry.changes} />
      </li>`)}
    </ol>`}
  </section>`;
}

/** Return the verb of an action: "short_link.role_changed" is "role changed". */
function verb(action) {
  return action.split(".")[1].replace(/_/g, " ");
}
