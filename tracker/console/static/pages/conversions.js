/** Conversions: the log, newest first, with what became of each. */

import { useEffect, useState } from "preact/hooks";
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
import { can, seesAll } from "console/core/session";
import { loadAll } from "console/parts/all";
import { DayInput } from "console/parts/day-input";
import { AdExports } from "console/conversions/ad-exports";
import { COLUMNS } from "console/conversions/columns";
import { FoundNote, PostbackNote, isPostback, seek, sought } from "console/conversions/find";
import { STATES, STATUSES, stateWord } from "console/conversions/states";
import { WarningsNote } from "console/conversions/warnings";

const ConversionCharts = lazy("console/conversions/charts", "ConversionCharts");
const PAGE_SIZE = 50;
const FILTERS = ["status", "attribution", "event", "link", "from", "to"];

/** The page. Its filters are in the URL; the pages after the first are added below it. */
export default function Conversions() {
  const { find, ...query } = route.value.query;
  const chosen = Object.fromEntries(FILTERS.map((name) => [name, query[name]]));
  const first = useLoad(
    (signal) => firstPage(chosen, find, signal),
    [JSON.stringify(chosen), find],
  );
  const filters = find ? namesOf(find, first.data?.kind) : chosen;
  const narrowed = find || Object.values(filters).some(Boolean);
  const postback = sought.value || (isPostback(find) && find);
  useEffect(() => () => void (sought.value = ""), []);
  return html`
    <${PageHeader}
      title="Conversions"
      about="Every conversion that was accepted, and what became of it."
    >
      ${
        seesAll() &&
        html`
          <${RefusedButton} />
          <a class="button" href="/console/conversions/uploads">Uploads</a>
          <${AdExports} filters=${filters} />
        `
      }
      ${
        !(find && first.data?.kind === "event") &&
        html`<${CsvButton} path="/api/conversions" query=${filters} />`
      }
      <${Button} icon="refresh" onClick=${first.reload}>Refresh<//>
    <//>
    ${seesAll() && html`<${WarningsNote} />`}
    <${Filters} filters=${chosen} find=${find} />
    ${postback && html`<${PostbackNote} url=${postback} />`}
    ${find && first.data?.refused && html`<${FoundNote} found=${first.data} text=${find} />`}
    ${!find && can("reports:read") && html`<${ConversionCharts} filters=${filters} />`}
    <${Table}
      caption="Conversions"
      load=${first}
      rowKey=${(row) => row.event_id}
      columns=${COLUMNS}
      empty=${
        first.data?.next_cursor
          ? html`<${NoneYet} page=${first.data} />`
          : html`<${NoConversions} ...${{ find, narrowed }} />`
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

/** Return the filters that list what was found by an id. */
function namesOf(find, kind) {
  return kind === "click" ? { click_id: find.toLowerCase() } : { transaction_id: find };
}

/** Load the first page, or everything that an id finds. */
async function firstPage(filters, find, signal) {
  if (!find) return api.get("/api/conversions", { ...filters, pageSize: PAGE_SIZE }, signal);
  const found = await api.get("/api/find", { q: find }, signal);
  return { ...found, rows: found.conversions };
}

/** The way to the refused postbacks, with their number of the last 7 days. */
function RefusedButton() {
  const { data } = useLoad(
    (signal) => api.get("/api/refused-postbacks", { pageSize: 1 }, signal),
    [],
  );
  const number = data?.counts.reduce((sum, { count }) => sum + count, 0);
  return html`<a class="button" href="/console/conversions/refused">
    Refused postbacks ${number > 0 && html`<${Badge} kind="bad">${format.number(number)}<//>`}
  </a>`;
}

function Filters({ filters, find }) {
  const configs = useLoad(
    (signal) =>
      can("event_configs:read")
        ? loadAll("/api/event-configs", signal)
        : Promise.resolve({ rows: [] }),
    [],
  );
  const pick = (name) => (value) => setQuery({ find: null, [name]: value });
  const [typed, setTyped] = useState(null);
  const search = () => {
    if (typed !== null) seek(typed.trim());
    setTyped(null);
  };
  return html`<div class="filters">
    <form class="search" role="search" onSubmit=${(event) => event.preventDefault()}>
      <${Icon} name="search" />
      <input
        type="search"
        aria-label="Find by id"
        placeholder="Any id, or a postback URL"
        value=${typed ?? find ?? sought.value}
        onInput=${(event) => setTyped(event.target.value)}
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

function NoConversions({ find, narrowed }) {
  if (narrowed) {
    const clear = () =>
      setQuery(Object.fromEntries(Object.keys(route.value.query).map((name) => [name, null])));
    return html`<${Empty}
      title=${find ? `No conversion has the id ${find}` : "No conversion fits"}
      action=${html`<${Button} onClick=${clear}>Show all<//>`}
    >
      <p>
        ${!find && "Try fewer filters. "}A conversion that was never accepted is among the${" "}
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
