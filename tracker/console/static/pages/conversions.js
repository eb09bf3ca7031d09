/** Conversions: the log, newest first, with what became of each. */

import { useState } from "preact/hooks";
import { api } from "console/core/api";
import { format } from "console/core/format";
import { useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { Table } from "console/core/lists";
import {
  Badge,
  Button,
  Choice,
  CsvButton,
  Empty,
  Icon,
  PageHeader,
  Tag,
  Time,
  lazy,
} from "console/core/parts";
import { route, setQuery } from "console/core/route";
import { can, seesAll, session } from "console/core/session";
import { loadAll } from "console/parts/all";
import { DayInput } from "console/parts/day-input";
import { AdExports } from "console/conversions/ad-exports";
import {
  ConversionState,
  ConversionStatus,
  STATES,
  STATUSES,
  stateWord,
} from "console/conversions/states";
import { WarningsNote } from "console/conversions/warnings";

const ConversionCharts = lazy("console/conversions/charts", "ConversionCharts");
const PAGE_SIZE = 50;
const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** The page. Its filters are in the URL; the pages after the first are added below it. */
export default function Conversions() {
  const { query } = route.value;
  const { status, attribution, event, link, from, to, find } = query;
  const chosen = { status, attribution, event, link, from, to };
  const first = useLoad(
    (signal) => firstPage(chosen, find, signal),
    [JSON.stringify(chosen), find],
  );
  const filters = { ...chosen, ...((!first.loading && first.data?.named) || namesOf(find)[0]) };
  const narrowed = Object.values(filters).some(Boolean);
  return html`
    <${PageHeader}
      title="Conversions"
      about="Every conversion that was accepted, and what became of it."
    >
      ${
        seesAll() &&
        html`
          <a class="button" href="/console/conversions/refused">Refused postbacks</a>
          <a class="button" href="/console/conversions/uploads">Uploads</a>
          <${AdExports} filters=${filters} />
        `
      }
      <${CsvButton} path="/api/conversions" query=${filters} />
      <${Button} icon="refresh" onClick=${first.reload}>Refresh<//>
    <//>
    ${seesAll() && html`<${WarningsNote} />`}
    ${can("reports:read") && html`<${ConversionCharts} filters=${filters} />`}
    <${Filters} filters=${filters} find=${find} />
    <${Table}
      caption="Conversions"
      load=${first}
      rowKey=${(row) => row.event_id}
      columns=${COLUMNS}
      empty=${
        first.data?.next_cursor
          ? html`<${NoneYet} page=${first.data} />`
          : html`<${NoConversions} narrowed=${narrowed} />`
      }
    />
    ${
      first.data?.next_cursor &&
      html`<${More}
        key=${first.data.next_cursor}
        filters=${filters}
        cursor=${first.data.next_cursor}
      />`
    }
  `;
}

const COLUMNS = [
  {
    label: "When",
    wide: true,
    cell: (row) =>
      html`<span class="main-cell">
        <a href="/console/conversions/${row.event_id}"><${Time} at=${row.at} exact /></a>
        <span>${row.event_config?.name ?? "no event configuration"}</span>
      </span>`,
  },
  { label: "Status", cell: (row) => html`<${ConversionStatus} conversion=${row} />` },
  {
    label: "State",
    cell: (row) =>
      html`<${ConversionState} conversion=${row} />
        ${
          row.warnings.length > 0 &&
          html`<span title=${row.warnings.join("\n")}><${Badge} kind="warning">warning<//></span>`
        }`,
  },
  {
    label: "Link",
    cell: ({ link }) =>
      link
        ? html`<a href="/console/links/${link.id}">${link.internal_name}</a>`
        : html`<span class="faint">–</span>`,
  },
  { label: "Value", numeric: true, cell: ({ value }) => format.money(value) },
  { label: "Payout", numeric: true, cell: ({ payout }) => format.money(payout) },
  { label: "Country", cell: ({ country }) => country ?? html`<span class="faint">–</span>` },
  {
    label: "Transaction",
    cell: (row) =>
      html`<span class="mono truncate transaction">${row.transaction_id ?? "–"}</span>`,
  },
];

/** Return the filters for what was searched for: a UUID is a click id, or else a transaction id. */
function namesOf(find) {
  if (!find) return [{}];
  const transaction = { transaction_id: find };
  return UUID.test(find) ? [{ click_id: find.toLowerCase() }, transaction] : [transaction];
}

/** Load the first page, with the filter that found it as `named`. */
async function firstPage(filters, find, signal) {
  let page;
  for (const named of namesOf(find)) {
    page = {
      ...(await api.get("/api/conversions", { ...filters, ...named, pageSize: PAGE_SIZE }, signal)),
      named,
    };
    if (page.rows.length > 0 || page.next_cursor) return page;
  }
  return page;
}

function Filters({ filters, find }) {
  const configs = useLoad(
    (signal) =>
      can("event_configs:read")
        ? loadAll("/api/event-configs", signal)
        : Promise.resolve({ rows: [] }),
    [],
  );
  const pick = (name) => (value) => setQuery({ [name]: value });
  const search = (event) => setQuery({ find: event.target.value.trim() });
  return html`<div class="filters">
    <form class="search" role="search" onSubmit=${(event) => event.preventDefault()}>
      <${Icon} name="search" />
      <input
        type="search"
        aria-label="Find by id"
        placeholder="Transaction or click id"
        value=${find ?? ""}
        onChange=${search}
      />
    </form>
    <${Choice}
      label="Status"
      value=${filters.status ?? ""}
      options=${[["", "Every status"], ...Object.keys(STATUSES).map((one) => [one, one])]}
      onInput=${pick("status")}
    />
    <${Choice}
      label="State"
      value=${filters.attribution ?? ""}
      options=${[["", "Every state"], ...Object.keys(STATES).map((one) => [one, stateWord(one)])]}
      onInput=${pick("attribution")}
    />
    <${Choice}
      label="Event configuration"
      value=${filters.event ?? ""}
      options=${[["", "Every event"], ...(configs.data?.rows ?? []).map(({ id, name }) => [id, name])]}
      onInput=${pick("event")}
    />
    <label class="row">
      From <${DayInput} value=${filters.from} onDay=${pick("from")} />
    </label>
    <label class="row">
      to <${DayInput} value=${filters.to} onDay=${pick("to")} />
    </label>
    <span class="hint">Days of ${session.value.account.time_zone}</span>
    ${
      filters.link &&
      html`<${Tag} label="the filter by link" onRemove=${() => setQuery({ link: null })}>
        one link
      <//>`
    }
  </div>`;
}

/** The next page, once it is asked for, and the way to the one after it. */
function More({ filters, cursor }) {
  const [open, setOpen] = useState(false);
  const next = useLoad(
    (signal) =>
      open
        ? api.get("/api/conversions", { ...filters, cursor, pageSize: PAGE_SIZE }, signal)
        : Promise.resolve(null),
    [open],
  );
  if (!open)
    return html`<div class="row">
      <${Button} onClick=${() => setOpen(true)}>Show older ones<//>
    </div>`;
  return html`
    <${Table}
      caption="Older conversions"
      load=${next.data || next.error ? next : { loading: true }}
      rowKey=${(row) => row.event_id}
      columns=${COLUMNS}
      empty=${next.data?.next_cursor ? html`<${NoneYet} page=${next.data} />` : null}
    />
    ${
      next.data?.next_cursor &&
      html`<${More}
        key=${next.data.next_cursor}
        filters=${filters}
        cursor=${next.data.next_cursor}
      />`
    }
  `;
}

/** A page that ended before it found anything: the next one looks further back. */
function NoneYet({ page }) {
  return html`<p class="about">
    None back to <${Time} at=${page.searched_to} exact />; older ones may fit.
  </p>`;
}

function NoConversions({ narrowed }) {
  if (narrowed) {
    const clear = () =>
      setQuery(Object.fromEntries(Object.keys(route.value.query).map((name) => [name, null])));
    return html`<${Empty}
      title="No conversion fits"
      action=${html`<${Button} onClick=${clear}>Show all<//>`}
    >
      <p>
        Try fewer filters. A conversion that was never accepted is among the${" "}
        <a href="/console/conversions/refused">refused postbacks</a>.
      </p>
    <//>`;
  }
  const action = html`<div class="row">
    <a class="button main" href="/console/events">Set up an event</a>
    <a class="button" href="/console/start">Show me how it works</a>
  </div>`;
  return html`<${Empty} title="No conversions yet" action=${action}>
    <p>
      A conversion is what a visitor did after a click: a purchase, a sign-up. A pixel, a server or
      a network reports it.
    </p>
  <//>`;
}
