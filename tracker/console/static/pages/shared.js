/**
 * A shared report, for whoever has its link. It leads nowhere. Only the measure can be chosen: the
 * rows are then read for that one.
 */

import { useEffect, useState } from "preact/hooks";
import { api } from "console/core/api";
import { TextField } from "console/core/fields";
import { format, writeMoneyIn, writeTimesIn } from "console/core/format";
import { useAction, useTitle } from "console/core/hooks";
import { html } from "console/core/html";
import { Button, ErrorNote, Skeleton, Tag, lazy } from "console/core/parts";
import { CARDS, filterTexts, isOwn } from "console/reports/dimensions";
import { groupOf } from "console/reports/measures";
import { ReportView } from "console/reports/report";
import { daysText, zoneText } from "console/reports/words";

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
  const read = (measure) => {
    const body = { ...opened, measure };
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

function SharedReport({ first, read, opened }) {
  const [answers, setAnswers] = useState({ [first.measure]: first });
  const [measure, setMeasure] = useState(first.measure);
  const [chosen, setChosen] = useState({});
  const [choose, busy, error] = useAction(async (one) => {
    if (!answers[one]) {
      const data = await read(one);
      setAnswers((old) => ({ ...old, [one]: data }));
    }
    setMeasure(one);
  });
  const data = answers[measure];
  const below = async (table, part) => {
    const body = { ...opened, table, ...part };
    return (await untilDone(() => api.post("/api/shared", body, { timeout: REPORT_MS }))).tables[0];
  };
  const cards = cardsOf(data);
  const shown = cards.map((panels, card) => chosen[card] ?? panels[0]);
  const actions = {
    setMeasure: choose,
    setPanel: (card, panel) => setChosen({ ...chosen, [card]: panel }),
  };
  return html`
    <header class="page-header">
      <div>
        <h1>${data.name}</h1>
        <p class="about">
          ${daysText(data.dateRange)}, days of ${zoneText(data)}
          ${data.expiresAt && `. Shared until ${format.date(data.expiresAt)}`}
        </p>
        <${Narrowed} ...${data} />
      </div>
    </header>
    <${ErrorNote} error=${error} />
    <div class="stack report" aria-busy=${busy}>
      <${ReportView} ...${{ data, measure, cards, shown, actions }} />
      ${first.tables?.map(
        (one, table) => html`<${SharedTable}
          key=${table}
          ...${{ data, first: one, ask: (part) => below(table, part) }}
        />`,
      )}
    </div>
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
