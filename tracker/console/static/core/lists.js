/** Lists: the table, its pages and its search. */

import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Checkbox } from "console/core/fields";
import { format } from "console/core/format";
import { useSettled } from "console/core/hooks";
import { html } from "console/core/html";
import { Button, ErrorNote, Icon, Skeleton } from "console/core/parts";
import { route, setQuery } from "console/core/route";

/**
 * A table; on small screens each row is a card.
 *
 * - `columns` are {label, cell(row), wide?, numeric?, actions?, sort?}; `cell` returns what is
 *   shown. One column is `wide` and heads the card; one with `actions` is at the end, without a
 *   heading.
 * - `load` is the answer of `useLoad`, whose data has `rows`; `empty` is shown if there are none.
 * - `selection` is {selected: Set, onSelect(Set), rowLabel?(row)}: rows then have boxes to tick.
 * - `sort` is {value, onSort(value)}: a column with `sort`, {ascending?, descending?}, can be
 *   sorted by.
 */
export function Table({
  caption,
  columns,
  load,
  rowKey = (row) => row.id,
  empty,
  selection,
  sort,
  skeleton = 5,
}) {
  const rows = load.data?.rows;
  if (load.error && !rows) return html`<${ErrorNote} error=${load.error} retry=${load.reload} />`;
  if (rows?.length === 0 && !load.loading) return empty;
  const isSelected = (row) => selection && selection.selected.has(rowKey(row));
  return html`
    <${ErrorNote} error=${load.error} retry=${load.reload} />
    <div class="table-box" aria-busy=${load.loading}>
      <table>
        <caption class="visually-hidden">${caption}</caption>
        <thead>
          <tr>
            ${
              selection &&
              html`<th class="select" scope="col">
                <${SelectAll} rows=${rows ?? []} ...${selection} rowKey=${rowKey} />
              </th>`
            }
            ${columns.map((column) => html`<${ColumnHead} column=${column} sort=${sort} />`)}
          </tr>
        </thead>
        <tbody>
          ${rows?.map(
            (row) => html`<tr key=${rowKey(row)} class=${isSelected(row) ? "selected" : ""}>
              ${
                selection &&
                html`<td class="select">
                  <${SelectRow} row=${row} ...${selection} rowKey=${rowKey} />
                </td>`
              }
              ${columns.map(
                (column) => html`<td class=${kindOf(column)} data-label=${column.label}>
                  ${column.cell(row)}
                </td>`,
              )}
            </tr>`,
          )}
          ${
            !rows &&
            Array.from(
              { length: skeleton },
              () => html`<tr>
                ${selection && html`<td class="select" />`}
                ${columns.map(
                  (column) => html`<td class=${kindOf(column)}>
                    ${!column.actions && html`<${Skeleton} lines=${1} />`}
                  </td>`,
                )}
              </tr>`,
            )
          }
        </tbody>
      </table>
    </div>
  `;
}

function kindOf({ wide, numeric, actions }) {
  return [wide && "wide", numeric && "numeric", actions && "actions"].filter(Boolean).join(" ");
}

function ColumnHead({ column, sort }) {
  const kind = kindOf(column);
  if (column.actions)
    return html`<th scope="col" class=${kind}>
      <span class="visually-hidden">${column.label}</span>
    </th>`;
  if (!sort || !column.sort) return html`<th scope="col" class=${kind}>${column.label}</th>`;
  const { ascending, descending } = column.sort;
  const state = !sort.value
    ? "none"
    : ({ [ascending]: "ascending", [descending]: "descending" }[sort.value] ?? "none");
  const next = state === "ascending" ? (descending ?? ascending) : (ascending ?? descending);
  return html`<th scope="col" class=${kind} aria-sort=${state}>
    <button type="button" class="sort ${state}" onClick=${() => sort.onSort(next)}>
      ${column.label}
      <${Icon} name="sort" />
    </button>
  </th>`;
}

function SelectAll({ rows, selected, onSelect, rowKey }) {
  const keys = rows.map(rowKey);
  const all = keys.length > 0 && keys.every((key) => selected.has(key));
  return html`<${Checkbox}
    label="Select all rows"
    hideLabel
    disabled=${keys.length === 0}
    checked=${all}
    onInput=${(on) => onSelect(new Set(on ? keys : []))}
  />`;
}

function SelectRow({ row, selected, onSelect, rowKey, rowLabel = (one) => one.name }) {
  const toggle = (on) => {
    const changed = new Set(selected);
    changed[on ? "add" : "delete"](rowKey(row));
    onSelect(changed);
  };
  return html`<${Checkbox}
    label="Select ${rowLabel(row)}"
    hideLabel
    checked=${selected.has(rowKey(row))}
    onInput=${toggle}
  />`;
}

/** The way to the other pages of a list. The page is the parameter `page` of the query. */
export function Pagination({ pagination, noun, plural }) {
  if (!pagination || pagination.totalRows === 0) return null;
  const { page, totalPages, totalRows, totalIsExact = true } = pagination;
  const isLast = totalIsExact && page >= totalPages;
  const go = (to) => setQuery({ page: to === 1 ? null : to }, { replace: false });
  return html`<nav class="pagination" aria-label="Pages">
    <span>${totalIsExact ? "" : "more than "}${format.count(totalRows, noun, plural)}</span>
    ${
      totalPages > 1 &&
      html`
        <${Button} disabled=${page <= 1} onClick=${() => go(page - 1)}>Previous<//>
        <span>
          Page ${format.number(page)}${totalIsExact ? ` of ${format.number(totalPages)}` : ""}
        </span>
        <${Button} disabled=${isLast} onClick=${() => go(page + 1)}>Next<//>
      `
    }
  </nav>`;
}

/**
 * The search of a list. The text is the parameter `search` of the query; `/` moves the focus here.
 */
export function SearchBox({ label }) {
  const id = useId();
  const sent = route.value.query.search ?? "";
  const [text, setText] = useState(sent);
  const settled = useSettled(text);
  const own = useRef(sent);
  useEffect(() => {
    // What came from this box is not written back into it: more may have been typed meanwhile.
    if (sent !== own.current) setText((own.current = sent));
  }, [sent]);
  useEffect(() => {
    if (settled === (route.peek().query.search ?? "")) return;
    own.current = settled;
    setQuery({ search: settled, page: null });
  }, [settled]);
  return html`<div class="search" role="search">
    <label class="visually-hidden" for=${id}>${label}</label>
    <${Icon} name="search" />
    <input
      id=${id}
      type="search"
      placeholder=${label}
      value=${text}
      autocomplete="off"
      data-search
      onInput=${(event) => setText(event.target.value)}
    />
  </div>`;
}
