/** Conversions: the log, newest first, with what became of each. */

import {
  Badge, Button, CsvButton, Empty, Icon, PageHeader, Table, Tag, Time, api, can, format, html, lazy, route, session, setQuery, useLoad, useState,
} from "console/core";
import { loadAll } from "console/parts/all";

const ConversionCharts = lazy("console/parts/conversion-charts", "ConversionCharts");
const PAGE_SIZE = 50;

/** The states of a conversion: how they are called, coloured and explained. */
export const STATES = {
  attributed: ["found", "good", "Its click was found; it counts under the click’s link."],
  pending: ["pending", "accent", "Its click is not stored yet; it counts without one until then."],
  no_click: ["no click", "quiet", "It named no click; it counts without one."],
  foreign_click: ["foreign click", "warning", "Its click belongs to another account; it counts without one."],
  duplicate: ["duplicate", "warning", "Another one has its transaction id; it does not count."],
  refused: ["refused", "bad", "It breaks a rule of the account; it does not count."],
};

const RULES = {
  require_pbk: "without a postback key",
  no_negative_values: "a value below zero",
  max_value: "a value above the highest",
  max_per_click: "too many for its click",
};

/** The state of a conversion, with the rule that it breaks. */
export function ConversionState({ conversion }) {
  const [word, kind, meaning] = STATES[conversion.status] ?? [conversion.status, "quiet", ""];
  return html`<span title=${meaning}><${Badge} kind=${kind}>${word}<//>${conversion.refused && html` <span class="hint">${RULES[conversion.refused] ?? conversion.refused}</span>`}</span>`;
}

/** The page. Its filters are in the URL; the pages after the first are added below it. */
export default function Conversions() {
  const { query } = route.value;
  const filters = { status: query.status, event_config_id: query.event_config_id, link_id: query.link_id, from: query.from, to: query.to };
  const first = useLoad((signal) => api.get("/api/conversions", { ...filters, pageSize: PAGE_SIZE }, signal), [JSON.stringify(filters)]);
  const narrowed = Object.values(filters).some(Boolean);
  return html`
    <${PageHeader} title="Conversions" about="Every conversion that was accepted, and what became of it.">
      <${CsvButton} path="/api/conversions" query=${filters} />
      <${Button} icon="refresh" onClick=${first.reload}>Refresh<//>
    <//>
    ${can("reports:read") && html`<${ConversionCharts} filters=${{ link: query.link_id, event: query.event_config_id }} />`}
    <${Filters} filters=${filters} />
    <${Table} caption="Conversions" load=${first} rowKey=${(row) => row.event_id} columns=${COLUMNS} empty=${first.data?.next_cursor ? html`<${NoneYet} page=${first.data} />` : html`<${NoConversions} narrowed=${narrowed} />`} />
    ${first.data?.next_cursor && html`<${More} key=${first.data.next_cursor} filters=${filters} cursor=${first.data.next_cursor} />`}`;
}

const COLUMNS = [
  { label: "When", wide: true, cell: (row) => html`<span class="main-cell"><a href="/console/conversions/${row.event_id}"><${Time} at=${row.at} exact /></a><span>${row.event_config?.name ?? "no event configuration"}</span></span>` },
  { label: "State", cell: (row) => html`<${ConversionState} conversion=${row} />` },
  { label: "Link", cell: ({ link }) => (link ? html`<a href="/console/links/${link.id}">${link.internal_name}</a>` : html`<span class="faint">–</span>`) },
  { label: "Value", numeric: true, cell: ({ value }) => format.money(value) },
  { label: "Payout", numeric: true, cell: ({ payout }) => format.money(payout) },
  { label: "Country", cell: ({ country }) => country ?? html`<span class="faint">–</span>` },
  { label: "Transaction", cell: (row) => html`<span class="mono truncate transaction">${row.transaction_id ?? "–"}</span>` },
];

function Filters({ filters }) {
  const configs = useLoad((signal) => (can("event_configs:read") ? loadAll("/api/event-configs", signal) : Promise.resolve({ rows: [] })), []);
  const pick = (name) => (event) => setQuery({ [name]: event.target.value });
  return html`<div class="filters">
    <${Icon} name="filter" />
    <select aria-label="State" value=${filters.status ?? ""} onChange=${pick("status")}>
      <option value="">Every state</option>
      ${Object.entries(STATES).map(([value, [word]]) => html`<option value=${value} selected=${value === filters.status}>${word}</option>`)}
    </select>
    <select aria-label="Event configuration" value=${filters.event_config_id ?? ""} onChange=${pick("event_config_id")}>
      <option value="">Every event</option>
      ${(configs.data?.rows ?? []).map(({ id, name }) => html`<option value=${id} selected=${id === filters.event_config_id}>${name}</option>`)}
    </select>
    <label class="row">From <input type="date" value=${filters.from ?? ""} onChange=${pick("from")} /></label>
    <label class="row">to <input type="date" value=${filters.to ?? ""} onChange=${pick("to")} /></label>
    <span class="hint">Days of ${session.value.account.time_zone}</span>
    ${filters.link_id && html`<${Tag} label="the filter by link" onRemove=${() => setQuery({ link_id: null })}>one link<//>`}
  </div>`;
}

/** The next page, once it is asked for, and the way to the one after it. */
function More({ filters, cursor }) {
  const [open, setOpen] = useState(false);
  const next = useLoad((signal) => (open ? api.get("/api/conversions", { ...filters, cursor, pageSize: PAGE_SIZE }, signal) : Promise.resolve(null)), [open]);
  if (!open) return html`<div class="row"><${Button} onClick=${() => setOpen(true)}>Show older ones<//></div>`;
  return html`
    <${Table} caption="Older conversions" load=${next.data || next.error ? next : { loading: true }} rowKey=${(row) => row.event_id} columns=${COLUMNS} empty=${next.data?.next_cursor ? html`<${NoneYet} page=${next.data} />` : null} />
    ${next.data?.next_cursor && html`<${More} key=${next.data.next_cursor} filters=${filters} cursor=${next.data.next_cursor} />`}`;
}

/** A page that ended before it found anything: the next one looks further back. */
function NoneYet({ page }) {
  return html`<p class="about">None back to <${Time} at=${page.searched_to} exact />; older ones may fit.</p>`;
}

function NoConversions({ narrowed }) {
  if (narrowed) {
    const clear = () => setQuery({ status: null, event_config_id: null, link_id: null, from: null, to: null });
    return html`<${Empty} title="No conversion fits" action=${html`<${Button} onClick=${clear}>Show all<//>`}><p>Try fewer filters.</p><//>`;
  }
  const action = html`<div class="row"><a class="button main" href="/console/events">Set up an event</a><a class="button" href="/console/start">Show me how it works</a></div>`;
  return html`<${Empty} title="No conversions yet" action=${action}>
    <p>A conversion is what a visitor did after a click: a purchase, a sign-up. A pixel, a server or a network reports it.</p>
  <//>`;
}
