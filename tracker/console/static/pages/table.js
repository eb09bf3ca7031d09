/** Table: figures by up to three dimensions, one inside the other. All of it is in the URL. */

import { useEffect, useState } from "preact/hooks";
import { api, owned } from "console/core/api";
import { Checkbox } from "console/core/fields";
import { useAction, useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { Button, Choice, ErrorNote, PageHeader } from "console/core/parts";
import { route, setQuery } from "console/core/route";
import { can, session, today } from "console/core/session";
import { joinValues } from "console/core/url";
import { Chips, useNames } from "console/reports/chips";
import { columnsOf } from "console/reports/columns";
import { Controls, useSteps } from "console/reports/controls";
import { CrossTable, PAGE_ROWS } from "console/reports/cross-table";
import { ReportDialog, filterBy } from "console/reports/dialogs";
import { FILTERS, isOwn, levelsOf, titlesOf } from "console/reports/dimensions";
import { downloadReport } from "console/reports/download";
import { MEASURES } from "console/reports/measures";
import * as inUrl from "console/reports/query";
import { comparedText } from "console/reports/words";

const REPORT_MS = 35_000;

/** The page. */
export default function TablePage() {
  const { query } = route.value;
  const dimensions = levelsOf(session.value.account);
  const report = inUrl.readReport(query, {
    today: today(),
    dimensions: new Set([...FILTERS, ...Object.keys(query).filter(isOwn)]),
  });
  const table = inUrl.readTable(query, dimensions, report.compare);
  const { levels, sort } = table;
  const { having } = report;
  const { dateRange, compare, filters } = inUrl.requestOf(report, [], {});
  const scope = { dateRange, compare, filters, groupBy: levels };
  const body = owned({ ...scope, sort, having });
  const ask = (part, signal) =>
    api.post(
      "/api/reports",
      { ...body, ...part, pageSize: PAGE_ROWS },
      { signal, timeout: REPORT_MS },
    );
  const asked = JSON.stringify(body);
  const answer = useLoad((signal) => ask({}, signal), [asked]);
  const names = useNames(answer.data);
  const [open, setOpen] = useState(null);
  const step = useSteps();
  useRememberedColumns();
  const columns = columnsOf(table, answer.data?.totals);
  const [save, saving, error] = useAction(() => downloadReport({ ...body, columns }));
  const tables = [{ groupBy: levels, columns, sort, having }];
  const filterable = dimensions.filter((one) => FILTERS.includes(one) || isOwn(one));
  const opener = (one, text) => html`<${Button} onClick=${() => setOpen(one)}>${text}<//>`;
  const share = { kind: "share", report: { ...inUrl.sharedReport(report, [], {}), tables } };
  return html`
    <${PageHeader} title="Table" />
    <${Controls} ...${{ report, answer, step }} series=${false} />
    <${Chips} ...${{ report, names, onAdd: (dimension) => setOpen({ kind: "filter", dimension }) }}>
      ${can("views:read") && opener({ kind: "views" }, "Views")}
      ${can("shares:write") && !report.tests && opener(share, "Share")}
      <${Button} icon="download" busy=${saving} onClick=${save}>CSV<//>
    <//>
    <${Shape} ...${{ levels, having, dimensions, columns }} />
    <${ErrorNote} error=${error} />
    <${CrossTable}
      ...${{ table, ask, asked }}
      load=${answer}
      scope=${JSON.stringify(scope)}
      onSort=${(chosen) => setQuery({ sort: chosen })}
      onFilter=${filterBy(report, names)}
    />
    <p class="hint">${answer.data && comparedText(answer.data)}</p>
    <${ReportDialog}
      ...${{ open, report, names, dimensions: filterable, days: report.days }}
      onClose=${() => setOpen(null)}
    />
  `;
}

/** The levels of the table, its smallest number of clicks, and its columns. */
function Shape({ levels, having, dimensions, columns }) {
  const setLevel = (index, level) => {
    const chosen = levels.toSpliced(index, 1, level).filter(Boolean);
    setQuery({ levels: joinValues(chosen) }, { replace: false, stay: true });
  };
  const setLeast = ({ target }) => {
    const clicks = { ...having.clicks, min: Number(target.value) || undefined };
    setQuery({ having: inUrl.havingText({ ...having, clicks }) });
  };
  const setColumn = (key, on) => {
    const chosen = joinValues(
      Object.keys(MEASURES).filter((one) => (one === key ? on : columns.includes(one))),
    );
    localStorage.setItem(storageKey(), chosen ?? "");
    setQuery({ columns: chosen });
  };
  const optionsOf = (index) =>
    dimensions
      .filter((one) => one === levels[index] || !levels.includes(one))
      .map((one) => [one, titlesOf(one)[0]]);
  return html`<div class="filters">
    ${[...levels, ""].slice(0, inUrl.MOST_LEVELS).map(
      (level, index) => html`<${Choice}
        key=${index}
        label="Level ${index + 1}"
        value=${level}
        options=${[...(index ? [["", "No more levels"]] : []), ...optionsOf(index)]}
        onInput=${(chosen) => setLevel(index, chosen)}
      />`,
    )}
    <label class="row">
      At least
      <input type="number" min="0" class="least" value=${having.clicks?.min} onChange=${setLeast} />
      clicks
    </label>
    <details>
      <summary>Columns</summary>
      <div class="boxes">
        ${Object.entries(MEASURES).map(
          ([key, [label]]) => html`<${Checkbox}
            key=${key}
            label=${label}
            checked=${columns.includes(key)}
            onInput=${(on) => setColumn(key, on)}
          />`,
        )}
      </div>
    </details>
  </div>`;
}

const storageKey = () => `columns ${session.value.person.id}`;

/** Give a table without columns in its URL those that the person chose last. */
function useRememberedColumns() {
  useEffect(() => {
    const columns = localStorage.getItem(storageKey());
    if (columns && !route.peek().query.columns) setQuery({ columns });
  }, []);
}
