/** The long tail of a panel: all rows, with every measure, a search, and any order. */

import { useState } from "preact/hooks";
import { api } from "console/core/api";
import { TextField } from "console/core/fields";
import { format } from "console/core/format";
import { useLoad, useSettled } from "console/core/hooks";
import { html } from "console/core/html";
import { Table } from "console/core/lists";
import { Button, ErrorNote } from "console/core/parts";
import { Dialog } from "console/parts/dialog";
import { columnsOf, measureColumns } from "console/reports/columns";
import { isFilter, titlesOf } from "console/reports/dimensions";
import { downloadReport } from "console/reports/download";
import { comparedText } from "console/reports/words";

const PAGE_SIZE = 25;
const REPORT_MS = 35_000;

/**
 * The dialog. `body` is the request of the report, without what is chosen here. `save` downloads
 * the rows of a request, unless it is false. Without `onFilter` the report is a shared one, whose
 * names cannot be searched.
 */
export function DetailsDialog({ panel, body, measure, save = downloadReport, onFilter, onClose }) {
  const path = onFilter ? "/api/reports" : "/api/shared/details";
  const [text, setText] = useState("");
  const [sort, setSort] = useState(`-${measure}`);
  const [page, setPage] = useState(1);
  const [error, setError] = useState(null);
  const search = useSettled(text);
  const asked = { ...body, groupBy: panel, sort, search: onFilter && search };
  const report = useLoad(
    (signal) =>
      api.post(
        path,
        { ...asked, page, pageSize: onFilter && PAGE_SIZE },
        { signal, timeout: REPORT_MS },
      ),
    [JSON.stringify(asked), page],
  );
  const isCompared = body.compare || report.data?.previousDateRange;
  const begin = (set) => (value) => {
    setPage(1);
    set(value);
  };
  const name = {
    label: titlesOf(panel)[0],
    wide: true,
    sort: onFilter && { ascending: "name", descending: "-name" },
    cell: (row) =>
      onFilter && isFilter(panel, row.key)
        ? html`<button
          type="button"
          class="link"
          onClick=${() => {
            onFilter(panel, row);
            onClose();
          }}
        >
          ${row.name}
        </button>`
        : row.name,
  };
  const by = sort.endsWith("name") ? measure : sort;
  const measures = columnsOf({ sort: by }, report.data?.totals);
  const columns = [name, ...measureColumns(measures, by, report.data)];
  const { totalRows = 0, totalPages = 1 } = report.data?.pagination ?? {};
  const footer = html`
    <span class="hint">
      ${format.count(totalRows, "row")}, page ${format.number(page)} of ${format.number(
        Math.max(1, totalPages),
      )}
    </span>
    <${Button} disabled=${page <= 1} onClick=${() => setPage(page - 1)}>Previous<//>
    <${Button} disabled=${page >= totalPages} onClick=${() => setPage(page + 1)}>Next<//>
    ${save && html`<${Button} icon="download" onClick=${() => save(asked).catch(setError)}>CSV<//>`}
    <${Button} kind="main" onClick=${onClose}>Close<//>
  `;
  return html`<${Dialog} title=${titlesOf(panel)[1]} wide="page" ...${{ footer, onClose }}>
    ${
      onFilter &&
      html`<${TextField}
        label="Search names"
        type="search"
        value=${text}
        onInput=${begin(setText)}
        data-focus
      />`
    }
    ${isCompared && html`<p class="hint">${report.data ? comparedText(report.data) : " "}</p>`}
    <${ErrorNote} error=${error} />
    <${Table}
      caption=${titlesOf(panel)[1]}
      columns=${columns}
      load=${report}
      rowKey=${(row) => row.key}
      sort=${{ value: sort, onSort: begin(setSort) }}
      empty=${html`<p class="about">Nothing is called that.</p>`}
    />
  <//>`;
}
