/** A cross table: rows by a dimension, each of which unfolds into rows by the next one. */

import { useEffect, useState } from "preact/hooks";
import { format } from "console/core/format";
import { html } from "console/core/html";
import { Table } from "console/core/lists";
import { Button } from "console/core/parts";
import { toast } from "console/core/toasts";
import { columnsOf, measureColumns } from "console/reports/columns";
import { isFilter, titlesOf } from "console/reports/dimensions";
import { MEASURES } from "console/reports/measures";

export const PAGE_ROWS = 25;

/**
 * The table, with the sums of all rows first.
 *
 * - `table` is {levels, columns, sort}; `load` is the answer of `useLoad` with its first rows.
 * - `ask({parents, page})` gets rows below others. They stay unfolded as long as `scope` is the
 *   same, and are asked for again if `asked` changes.
 * - `onSort(sort)` and `onFilter(dimension, row)` where the table may be changed.
 */
export function CrossTable({ table, load, ask, asked, scope, onSort, onFilter }) {
  const { levels, sort } = table;
  const { data } = load;
  const [branches, toggle] = useBranches(ask, asked, scope);
  const caption = levels.map((level) => titlesOf(level)[0]).join(" › ");
  const name = {
    label: caption,
    wide: true,
    sort: { ascending: "name", descending: "-name" },
    cell: (row) => html`<${Name} ...${{ levels, row, toggle, onFilter }} />`,
  };
  const all = data?.rows.length > 0 && [{ key: "all", name: "All", ...data.totals }];
  const rows = data && (all ? [...all, ...flat(branches, [], data)] : []);
  return html`<${Table}
    caption="Figures by ${caption}"
    columns=${[name, ...measureColumns(columnsOf(table, data?.totals), sort, data)]}
    load=${{ ...load, data: data && { rows } }}
    rowKey=${({ parents, key }) => JSON.stringify([parents, key])}
    sort=${onSort && { value: sort, onSort }}
    empty=${html`<p class="about">Nothing passes these filters in this time.</p>`}
  />`;
}

/** A cross table of a share: `first` are its rows, `ask({parents})` gets those below others. */
export function SharedTable({ first, data, ask }) {
  // A share has the first rows of each level, and no further pages.
  const pageOf = (found) => ({ ...data, ...found, pagination: { totalRows: 0 } });
  const columns = Object.keys(MEASURES).filter((key) => key in first.totals);
  return html`<${CrossTable}
    table=${{ levels: first.groupBy, columns }}
    load=${{ data: pageOf(first) }}
    ask=${({ parents }) => ask({ parents }).then(pageOf)}
    asked="share"
  />`;
}

/**
 * Return [find, toggle]: `find(parents, page)` returns the answer with rows, null until it is there,
 * and undefined if they are not unfolded. While they are asked for again they are the old ones.
 */
function useBranches(ask, asked, scope) {
  const [open, setOpen] = useState({ scope, parts: [] });
  const [found, setFound] = useState({});
  const parts = open.scope === scope ? open.parts : [];
  useEffect(() => {
    for (const part of parts.filter((one) => found[one]?.asked !== asked)) {
      const set = (answer) =>
        setFound((old) =>
          old[part]?.asked === asked ? { ...old, [part]: { asked, answer } } : old,
        );
      setFound((old) => ({ ...old, [part]: { ...old[part], asked } }));
      const [parents, page] = JSON.parse(part);
      ask({ parents: parents.length ? parents : undefined, page }).then(set, ({ message }) => {
        toast(message, { kind: "bad" });
        setOpen((old) => ({ ...old, parts: old.parts.filter((one) => one !== part) }));
      });
    }
  }, [asked, parts.join()]);
  const partOf = (parents, page = 1) => JSON.stringify([parents, page]);
  const find = (...rows) =>
    parts.includes(partOf(...rows)) ? (found[partOf(...rows)]?.answer ?? null) : undefined;
  const toggle = (...rows) => {
    const part = partOf(...rows);
    const others = parts.filter((one) => one !== part);
    setFound((old) => ({ ...old, [part]: undefined }));
    setOpen({ scope, parts: others.length < parts.length ? others : [...parts, part] });
  };
  return [find, toggle];
}

/** Return the rows in the order of the table. Where there are more, the last one has their `page`. */
function flat(find, parents, data, page = 1) {
  const rows = data.rows.flatMap((row) => {
    const below = find([...parents, row.key]);
    return [{ ...row, parents, below }, ...(below ? flat(find, [...parents, row.key], below) : [])];
  });
  const left = data.pagination.totalRows - page * PAGE_ROWS;
  if (left <= 0) return rows;
  const more = find(parents, page + 1);
  return [
    ...rows,
    ...(more ? flat(find, parents, more, page + 1) : [{ parents, page: page + 1, left }]),
  ];
}

/** The name of a row, or a button for more rows. */
function Name({ levels, row, toggle, onFilter }) {
  const { parents, key, name, page, left, below } = row;
  if (!parents) return html`<strong>${name}</strong>`;
  const [dimension, inner] = levels.slice(parents.length);
  return html`<div class="cross-name level-${parents.length}">
    ${
      page
        ? html`<${Button} onClick=${() => toggle(parents, page)}>
          ${format.number(Math.min(left, PAGE_ROWS))} more of ${format.number(left)}
        <//>`
        : html`
          ${
            inner &&
            html`<${Button}
              kind="quiet"
              icon="chevron"
              label="${name} by ${titlesOf(inner)[0].toLowerCase()}"
              aria-expanded=${below !== undefined}
              aria-busy=${below === null}
              onClick=${() => toggle([...parents, key])}
            />`
          }
          <span class="visually-hidden">${titlesOf(dimension)[0]}</span>
          ${
            onFilter && isFilter(dimension, key)
              ? html`<button type="button" class="link" onClick=${() => onFilter(dimension, row)}>
                ${name}
              </button>`
              : html`<span>${name}</span>`
          }
        `
    }
  </div>`;
}
