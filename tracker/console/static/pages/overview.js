/** Overview: what the account, or one link of it, brought in some days. All of it is in the URL. */

import { useEffect, useState } from "preact/hooks";
import { api, owned } from "console/core/api";
import { printing, useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { Button, Empty, ErrorNote, Menu, PageHeader, Skeleton } from "console/core/parts";
import { route, setQuery } from "console/core/route";
import { can, session, today } from "console/core/session";
import { toast } from "console/core/toasts";
import { queryText } from "console/core/url";
import { Chips, useNames } from "console/reports/chips";
import { Controls, useSteps } from "console/reports/controls";
import {
  CARDS,
  FILTERS,
  isOfAccount,
  isOwn,
  ownDimensions,
  titlesOf,
} from "console/reports/dimensions";
import { ReportDialog, filterBy } from "console/reports/dialogs";
import { RARE, groupOf, measureOf } from "console/reports/measures";
import { daysOfSteps, intervalOfSteps } from "console/reports/periods";
import {
  ROWS_ON_SCREEN,
  havingOf,
  panelsText,
  readReport,
  requestOf,
  sharedReport,
  shownPanel,
} from "console/reports/query";
import { ReportView } from "console/reports/report";
import { daysText, zoneText } from "console/reports/words";

const REPORT_MS = 35_000;

/** The page. */
export default function Overview() {
  return html`<${Report} title="Overview" />`;
}

/**
 * The report of the account. With `fixed`, {link: id}, it is of that link only, and part of another
 * page, which has the title.
 */
export function Report({ title, fixed = {} }) {
  const { query } = route.value;
  const { account } = session.value;
  const isShown = (panel) => !(groupOf(panel) in fixed) && isOfAccount(panel, account);
  const own = ownDimensions(account.parameters);
  const dimensions = [...FILTERS.filter(isShown), ...own];
  // A view may filter by a parameter that the account has no more. Without it, it would show all.
  const filters = new Set([...dimensions, ...Object.keys(query).filter(isOwn)]);
  const report = readReport(query, { today: today(), dimensions: filters });
  const cards = [...CARDS.map((panels) => panels.filter(isShown)), ...(own.length ? [own] : [])];
  const mover = [query.movers, "link", "country"].find((one) => dimensions.includes(one));
  const movers = { groupBy: mover, measure: measureOf(mover, report.measure) };
  const body = owned({ ...requestOf(report, cards, fixed), movers: report.compare && movers });
  const answer = useLoad(
    (signal) => api.post("/api/reports/overview", body, { signal, timeout: REPORT_MS }),
    [JSON.stringify(body)],
  );
  const names = useNames(answer.data);
  const [open, setOpen] = useState(null);
  useFreshness(answer, report.days);
  const step = useSteps();
  const actions = {
    setMeasure: (measure) => setQuery({ measure: measure === "clicks" ? null : measure }),
    setMover: (dimension) => setQuery({ movers: dimension }),
    setPanel: (card, panel) => setQuery({ panels: panelsText(report.panels, cards[card], panel) }),
    setRange: (first, last) =>
      setQuery(
        {
          period: null,
          ...daysOfSteps(first, last, answer.data),
          ...intervalOfSteps(first, last, report.interval),
        },
        { replace: false },
      ),
    filter: filterBy(report, names),
    details: (panel) =>
      setOpen({
        kind: "details",
        panel: groupOf(panel),
        body: { ...exported, having: havingOf(panel, report.having) },
        measure: measureOf(panel, report.measure),
        onFilter: actions.filter,
      }),
  };
  const shown = cards.map((panels) => shownPanel(report.panels, panels));
  const exported = { ...body, panels: undefined, interval: undefined, movers: undefined };
  return html`
    ${title && html`<${PageHeader} title=${title} />`}
    <${Controls} ...${{ report, answer, step }} />
    <${Chips} ...${{ report, names, onAdd: (dimension) => setOpen({ kind: "filter", dimension }) }}>
      ${
        title &&
        can("views:read") &&
        html`<${Button} onClick=${() => setOpen({ kind: "views" })}>Views<//>`
      }
      <${Button} href="/console/table${queryText({ ...query, ...fixed })}">Table<//>
      ${
        can("shares:write") &&
        !report.tests &&
        html`<${Button}
          onClick=${() => setOpen({ kind: "share", report: sharedReport(report, cards, fixed) })}
        >
          Share
        <//>`
      }
      <${Menu}
        kind="plain"
        icon="download"
        label="Download as CSV"
        items=${downloads(exported, shown, report, answer.data)}
      >
        CSV
      <//>
    <//>
    ${
      printing.value &&
      answer.data &&
      html`<p>${daysText(answer.data.dateRange)}, days of ${zoneText(answer.data)}</p>`
    }
    <${ErrorNote} error=${answer.error} retry=${answer.reload} />
    ${!answer.data && !answer.error && html`<div class="card"><${Skeleton} lines=${8} /></div>`}
    ${
      answer.data &&
      html`<div class="stack report" aria-busy=${answer.loading}>
        ${
          isEmpty(answer.data) &&
          html`<${Nothing} narrowed=${report.tests || Object.keys(report.filters).length > 0} />`
        }
        <${ReportView}
          data=${answer.data}
          measure=${report.measure}
          most=${ROWS_ON_SCREEN}
          ...${{ cards, shown, actions, mover, movers: dimensions, filters: report.filters }}
        />
      </div>`
    }
    <${ReportDialog}
      ...${{ open, report, names, dimensions, days: report.days }}
      onClose=${() => setOpen(null)}
    />
  `;
}

function Nothing({ narrowed }) {
  if (narrowed)
    return html`<div class="note"><p>Nothing passes these filters in this time.</p></div>`;
  return html`<${NoClicks} />`;
}

/** The first steps are offered until their last one, a test conversion, is done. */
function NoClicks() {
  const tests = useLoad(
    (signal) =>
      can("conversions:read")
        ? api.get("/api/conversions", { status: "test", pageSize: 1 }, signal)
        : Promise.resolve({ rows: [] }),
    [],
  );
  const action =
    can("links:write") &&
    html`<div class="row">
      ${
        tests.data?.rows.length === 0 &&
        html`<a class="button main" href="/console/start">Show me how it works</a>`
      }
      <a class="button" href="/console/links">Your links</a>
    </div>`;
  return html`<${Empty} title="No clicks in this time" action=${action}>
    <p>Open a short link, and its click is here a moment later.</p>
  <//>`;
}

function isEmpty({ totals }) {
  return !["clicks", "botClicks", "conversions", ...RARE].some((name) => Number(totals[name]));
}

/** Load a report that has today again when its tab is looked at again. */
function useFreshness({ reload }, { to }) {
  useEffect(() => {
    const again = () => document.hidden || to < today() || reload();
    document.addEventListener("visibilitychange", again);
    return () => document.removeEventListener("visibilitychange", again);
  }, [reload, to]);
}

/** Return the menu of files: the series by day, and each panel that is shown, with all its rows. */
function downloads(body, shown, { measure, having }, data) {
  const days = { label: "Days", groupBy: data?.interval ?? "day", sort: "key" };
  const panels = shown.map((panel) => ({
    label: titlesOf(panel)[1],
    groupBy: groupOf(panel),
    sort: panel === "hour_of_week" ? "key" : `-${measureOf(panel, measure)}`,
    having: havingOf(panel, having),
  }));
  return [days, ...panels].map(({ label, ...by }) => ({
    label,
    icon: "download",
    run: () => download({ ...body, ...by }),
  }));
}

async function download(body) {
  try {
    const { downloadReport } = await import("console/reports/download");
    await downloadReport(body);
  } catch (error) {
    toast(error.message, { kind: "bad" });
  }
}
