/** A shared report, for whoever has its link. Nothing of it can be changed, and it leads nowhere. */

import { Button, ErrorNote, Skeleton, Tag, TextField, api, format, html, useAction, useEffect, useState, useTitle } from "console/core";
import { CARDS, DIMENSIONS, ReportView, groupOf, measureOf, stepText } from "console/parts/report";

const REPORT_MS = 35_000;

/** Ask for a report until it comes, as long as each try gets further: what is counted is kept. */
async function untilDone(ask) {
  for (let reached = 0; ; ) {
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
  const [data, setData] = useState(null);
  const [open, busy, error] = useAction(async () => {
    const body = { token, password: password || null };
    setData(await untilDone(() => api.post("/api/shared", body, { timeout: REPORT_MS })));
  });
  useEffect(() => void open(), []);
  useTitle(data?.name ?? "Shared report");
  if (data) return html`<main id="main"><${SharedReport} data=${data} /></main>`;
  const asks = error?.code === "password_required";
  const submit = (event) => {
    event.preventDefault();
    open();
  };
  if (asks || password) {
    return html`<main class="outside" id="main"><form class="card" onSubmit=${submit}>
      <h1>A shared report</h1>
      <${TextField} label="Password" type="password" autocomplete="off" required autofocus value=${password} onInput=${setPassword} error=${asks && error.rule === "wrong" && !busy ? "wrong" : undefined} />
      <${ErrorNote} error=${asks ? null : error} />
      <${Button} kind="main" type="submit" busy=${busy}>Show it<//>
    </form></main>`;
  }
  return html`<main class="outside" id="main"><h1>A shared report</h1>${error ? html`<${ErrorNote} error=${error} retry=${error.status === 404 ? undefined : open} />` : html`<${Skeleton} lines=${6} />`}</main>`;
}

const BOTS = { include: "With bots", only: "Only bots" };

/** What of the account the figures count. */
function Narrowed({ filters, tagOperator, bots }) {
  const said = Object.entries(filters).map(([name, values]) => `${DIMENSIONS[name][0]} is ${values.join(name === "tag" && tagOperator === "AND" ? " and " : " or ")}`);
  if (bots in BOTS) said.push(BOTS[bots]);
  return said.length > 0 && html`<div class="filters chips">${said.map((text) => html`<${Tag} key=${text}>${text}<//>`)}</div>`;
}

function SharedReport({ data }) {
  const [measure, setMeasure] = useState("clicks");
  const [chosen, setChosen] = useState({});
  const cards = CARDS.map((panels) => panels.filter((panel) => groupOf(panel) in data.panels)).filter((panels) => panels.length);
  const shown = cards.map((panels, card) => chosen[card] ?? panels[0]);
  const actions = { setMeasure, setPanel: (card, panel) => setChosen({ ...chosen, [card]: panel }) };
  const { from, to } = data.dateRange;
  return html`
    <header class="page-header"><div>
      <h1>${data.name}</h1>
      <p class="about">${stepText(from)} to ${stepText(to)}, days of ${data.timeZone}${data.expiresAt && `. Shared until ${format.date(data.expiresAt)}`}</p>
      <${Narrowed} ...${data} />
    </div></header>
    <${ReportView} ...${{ data: { ...data, panels: ordered(data.panels, measure) }, measure, cards, shown, actions }} />`;
}

/** Return panels with their rows in the order of a measure. Which rows there are is fixed. */
function ordered(panels, measure) {
  const by = (panel) => (one, other) => Number(other[measureOf(panel, measure)]) - Number(one[measureOf(panel, measure)]);
  return Object.fromEntries(Object.entries(panels).map(([panel, { rows, ...others }]) => [panel, { ...others, rows: rows.toSorted(by(panel)) }]));
}
