/**
 * A shared report, for whoever has its link. It leads nowhere. The measure can be chosen: the rows
 * are then read for that one. Days, all rows and files are there if the share has them.
 */

import { useEffect, useState } from "preact/hooks";
import { api } from "console/core/api";
import { todayIn } from "console/core/dates";
import { TextField } from "console/core/fields";
import { format, writeMoneyIn, writeTimesIn } from "console/core/format";
import { useAction, useTitle } from "console/core/hooks";
import { html } from "console/core/html";
import { Button, Choice, ErrorNote, Menu, Skeleton, Tag, lazy } from "console/core/parts";
import { DayInput } from "console/parts/day-input";
import { CARDS, filterTexts, isOwn, titlesOf } from "console/reports/dimensions";
import { groupOf, measureOf } from "console/reports/measures";
import { PERIODS, daysOf } from "console/reports/periods";
import { ReportView } from "console/reports/report";
import { daysText, zoneText } from "console/reports/words";

const DetailsDialog = lazy("console/reports/details", "DetailsDialog");
const SharedTable = lazy("console/reports/cross-table", "SharedTable");

const REPORT_MS = 35_000;
const DEFAULT_MEASURE = "clicks";

const GONE =
  "This link opens no report: it has ended, was revoked, or is not complete. Ask whoever sent it for a new one.";

/** Ask for a report until it comes, as long as each try gets further: what is counted is kept. */
async function untilDone(ask) {
  for (let reached = 0; ;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error.progress > reached)) throw error;
      reached = error.progress;
      await new Promise((done) => setTimeout(done, error.retryAfter * 1000));
    }
  }
}

/** The page. `token` is the part of the link after the #. */
export default function Shared({ token }) {
  const [password, setPassword] = useState("");
  const [tried, setTried] = useState(false);
  const [first, setFirst] = useState(null);
  const opened = { token, password: password || null };
  const read = (measure, dateRange) => {
    const body = { ...opened, measure, dateRange };
    return untilDone(() => api.post("/api/shared", body, { timeout: REPORT_MS }));
  };
  const [open, busy, error] = useAction(async () => {
    const data = await read();
    writeTimesIn(data.timeZone);
    writeMoneyIn(data.currency);
    // A report without a measure may have rows for several.
    setFirst(
      data.measure ? data : { ...data, ...(await read(DEFAULT_MEASURE)), measure: DEFAULT_MEASURE },
    );
  });
  useEffect(() => void open(), []);
  useTitle(first?.name ?? "Shared report");
  if (first) return html`<main id="main"><${SharedReport} ...${{ first, read, opened }} /></main>`;
  const asks = error?.code === "password_required";
  const shown = error?.code === "not_found" ? { message: GONE } : error;
  const submit = (event) => {
    event.preventDefault();
    setTried(true);
    open();
  };
  if (asks || password) {
    return html`<main class="outside" id="main">
      <form class="card" onSubmit=${submit}>
        <h1>A shared report</h1>
        <${TextField}
          label="Password"
          type="password"
          autocomplete="off"
          required
          autofocus
          value=${password}
          onInput=${setPassword}
          error=${asks && tried && !busy ? error.rule : undefined}
        />
        <${ErrorNote} error=${asks ? null : shown} />
        <${Button} kind="main" type="submit" busy=${busy}>Show it<//>
      </form>
    </main>`;
  }
  return html`<main class="outside" id="main">
    <h1>A shared report</h1>
    ${
      error ? html`<${ErrorNote} error=${shown} retry=${open} />` : html`<${Skeleton} lines=${6} />`
    }
  </main>`;
}

const BOTS = { include: "With bots", only: "Only bots" };

/** What of the account the figures count. */
function Narrowed({ filters, tagOperator, bots }) {
  const said = Object.entries(filters).flatMap(([name, filter]) =>
    filterTexts(name, filter, tagOperator).map(([, text]) => text),
  );
  if (bots in BOTS) said.push(BOTS[bots]);
  return (
    said.length > 0 &&
    html`<div class="filters chips">
      ${said.map((text) => html`<${Tag} key=${text}>${text}<//>`)}
    </div>`
  );
}

const keyOf = ({ measure, days }) => [measure, days?.from, days?.to].join();

function SharedReport({ first, read, opened }) {
  const [seen, setSeen] = useState({ measure: first.measure });
  const { measure, days } = seen;
  const [answers, setAnswers] = useState({ [keyOf(seen)]: first });
  const [chosen, setChosen] = useState({});
  const [panelOpen, setPanelOpen] = useState(null);
  const [choose, busy, error] = useAction(async (change) => {
    const next = { ...seen, ...change };
    if (!answers[keyOf(next)]) {
      const data = await read(next.measure, next.days);
      setAnswers((old) => ({ ...old, [keyOf(next)]: data }));
    }
    setSeen(next);
  });
  const [save, , failed] = useAction((body) => downloadShared(body, data.dateRange));
  const data = answers[keyOf(seen)];
  // An answer for another measure has no tables: they have all measures.
  const tables = days ? data.tables : first.tables;
  const below = async (table, part) => {
    const body = { ...opened, table, dateRange: days, ...part };
    return (await untilDone(() => api.post("/api/shared", body, { timeout: REPORT_MS }))).tables[0];
  };
  const cards = cardsOf(data);
  const shown = cards.map((panels, card) => chosen[card] ?? panels[0]);
  const actions = {
    setMeasure: (one) => choose({ measure: one }),
    setPanel: (card, panel) => setChosen({ ...chosen, [card]: panel }),
    details: first.allRows && setPanelOpen,
  };
  const rowsOf = (panel) => ({ ...opened, dateRange: days, groupBy: groupOf(panel) });
  const files = shown.map((panel) => ({
    label: titlesOf(panel)[1],
    icon: "download",
    run: () => save({ ...rowsOf(panel), sort: `-${measureOf(panel, measure)}` }),
  }));
  return html`
    <header class="page-header">
      <div>
        ${first.logo && html`<img class="logo" src=${first.logo} alt="" />`}
        ${first.title && html`<p>${first.title}</p>`}
        <h1>${data.name}</h1>
        <p class="about">
          ${daysText(data.dateRange)}, days of ${zoneText(data)}
          ${data.expiresAt && `. Shared until ${format.date(data.expiresAt)}`}
        </p>
        <${Narrowed} ...${data} />
      </div>
    </header>
    ${
      (first.chooseDays || first.download) &&
      html`<div class="filters report-controls">
        ${
          first.chooseDays &&
          html`<${Days} ...${{ data, onDays: (one) => choose({ days: one }) }} />`
        }
        ${
          first.download &&
          html`<${Menu} kind="plain" icon="download" label="Download as CSV" items=${files}>CSV<//>`
        }
      </div>`
    }
    <${ErrorNote} error=${error ?? failed} />
    <div class="stack report" aria-busy=${busy}>
      <${ReportView} ...${{ data, measure, cards, shown, actions }} />
      ${tables?.map(
        (one, table) => html`<${SharedTable}
          key=${`${table} ${days?.from} ${days?.to}`}
          ...${{ data, first: one, ask: (part) => below(table, part) }}
        />`,
      )}
    </div>
    ${
      panelOpen &&
      html`<${DetailsDialog} ...${{
        panel: groupOf(panelOpen),
        body: rowsOf(panelOpen),
        measure: measureOf(panelOpen, measure),
        save: first.download && ((body) => downloadShared(body, data.dateRange)),
        onClose: () => setPanelOpen(null),
      }} />`
    }
  `;
}

async function downloadShared(body, days) {
  const { download } = await import("console/reports/download");
  await download("/api/shared/details/export", body, days);
}

/** The choice of days: those of the share, of a period, or any others. */
function Days({ data, onDays }) {
  const [period, setPeriod] = useState("");
  const { from, to } = data.dateRange;
  const choose = (one) => {
    setPeriod(one);
    if (one !== "own") onDays(one ? daysOf(one, "", todayIn(data.timeZone)) : undefined);
  };
  const day = (name, limit) =>
    html`<${DayInput}
      aria-label=${name === "from" ? "From" : "To"}
      value=${data.dateRange[name]}
      ...${limit}
      onDay=${(one) => one && onDays({ from, to, [name]: one })}
    />`;
  return html`
    <${Choice}
      label="Days"
      value=${period}
      options=${[["", "Days of the report"], ...Object.entries(PERIODS), ["own", "Own dates"]]}
      onInput=${choose}
    />
    ${period === "own" && html`${day("from", { max: to })} to ${day("to", { min: from })}`}
  `;
}

/**
 * Return the panels by the cards that they share: those that were chosen, or as tabs all there are.
 */
function cardsOf({ shown, panels }) {
  // A map of the first countries only would show the others as empty.
  const isWhole = ({ rows, totalRows }) => rows.length === totalRows;
  const isKnown = (panel) =>
    groupOf(panel) in panels && (panel !== "map" || isWhole(panels.country));
  if (shown)
    return [...new Set(shown.map((panel) => (isKnown(panel) ? panel : groupOf(panel))))].map(
      (panel) => [panel],
    );
  const own = Object.keys(panels).filter(isOwn);
  return [...CARDS.map((card) => card.filter(isKnown)), own].filter((card) => card.length);
}
