/** Links: the list, with search, filters, and changes of many at once. */

import { useCallback, useEffect, useState } from "preact/hooks";
import { format } from "console/core/format";
import { useLoad, useShortcut } from "console/core/hooks";
import { html } from "console/core/html";
import { Pagination, SearchBox, Table } from "console/core/lists";
import { Button, Choice, CsvButton, Empty, PageHeader, lazy } from "console/core/parts";
import { route, setQuery } from "console/core/route";
import { can, seesAll } from "console/core/session";
import { BulkBar } from "console/links/changes";
import { columns } from "console/links/columns";
import { FIGURES, figuresIn, filtersIn, loadPage, useFigures } from "console/links/figures";
import { UtmChips, noUtmFilters } from "console/links/utm";
import { MEASURES } from "console/reports/measures";
import { DEFAULT_PERIOD, PERIODS } from "console/reports/periods";

// The first page is painted before any of these is loaded.
const LinkDialog = lazy("console/links/form", "LinkDialog");
const OptionsDialog = lazy("console/links/form", "OptionsDialog");
const BulkDialog = lazy("console/links/bulk", "BulkDialog");
const QrDialog = lazy("console/links/qr", "QrDialog");
const TagsDialog = lazy("console/links/tags", "TagsDialog");
const TagFilterDialog = lazy("console/links/tags", "TagFilterDialog");

const STATES = [
  ["", "All in use"],
  ["true", "Active"],
  ["false", "Paused"],
  ["scheduled", "Scheduled"],
  ["expired", "Ended"],
  ["used_up", "Used up"],
  ["protected", "Protected"],
  ["archived", "Archived"],
];
const SORTS = [
  ["", "Newest first"],
  ["oldest", "Oldest first"],
  ["name", "By name"],
  ["slug", "By slug"],
  ["last_click", "Last clicked first"],
];
const FIGURE_SORTS = FIGURES.flatMap((name) => [
  [`-${name}`, `${MEASURES[name][0]}, most first`],
  [name, `${MEASURES[name][0]}, least first`],
]);

/** The page. Its filters are in the URL; what is selected or open is state. */
export default function Links() {
  const { query } = route.value;
  const { days, sort, figure } = figuresIn(query);
  const asked = { ...query, period: figure && query.period }; // else figures alone change with it
  const links = useLoad((signal) => loadPage(query, signal), [JSON.stringify(asked)]);
  const rows = links.data?.rows ?? [];
  const figures = useFigures(links.data, days);
  const [selected, setSelected] = useState(new Set());
  const [everything, setEverything] = useState(false);
  const [open, setOpen] = useState(null);
  const mayWrite = can("links:write");
  const create = useCallback(() => mayWrite && setOpen({ kind: "form" }), [mayWrite]);
  useShortcut("c", "Create a link", create);
  // What is not on screen is not selected, unless all that match are.
  useEffect(
    () => setSelected((old) => new Set(rows.map(({ id }) => id).filter((id) => old.has(id)))),
    [links.data],
  );
  const filters = filtersIn(query);
  useEffect(() => setEverything(false), [JSON.stringify(filters)]);
  const dialog = { ...open, onClose: () => setOpen(null), onDone: links.reload };
  const select = (chosen) => (setEverything(false), setSelected(chosen));
  const selection = mayWrite && {
    selected,
    onSelect: select,
    rowLabel: (link) => link.internal_name,
  };
  const { totalRows: total = 0, totalIsExact = true } = links.data?.pagination ?? {};
  const chosen = {
    links: rows.filter(({ id }) => selected.has(id)),
    target: everything ? { filters } : { links: rows.filter(({ id }) => selected.has(id)) },
    count: everything ? total : selected.size,
  };
  const all =
    !everything &&
    selected.size === rows.length &&
    total > rows.length &&
    html`<${Button} onClick=${() => setEverything(true)}>
      Select all ${totalIsExact && format.number(total)} that match
    <//>`;

  return html`
    <${PageHeader} title="Links">
      <${CsvButton} path="/api/short-links" query=${{ ...filters, sort }} />
      ${
        mayWrite &&
        html`
          ${seesAll() && html`<${Button} href="/console/imports">Import<//>`}
          <${Button} onClick=${() => setOpen({ kind: "many" })}>Create many<//>
          <${Button} kind="main" icon="plus" onClick=${create}>New link<//>
        `
      }
    <//>
    <${Filters} query=${query} />
    <${Table}
      caption="Links"
      load=${links}
      selection=${selection}
      columns=${columns(rows, mayWrite, figures, setOpen, links.reload, query.sort)}
      sort=${{ value: query.sort ?? "newest", onSort: (sort) => setQuery({ sort, page: null }) }}
      empty=${html`<${NoLinks} query=${query} create=${mayWrite && create} />`}
    />
    ${
      selected.size > 0 &&
      html`<${BulkBar}
        ...${{ ...chosen, all }}
        reload=${links.reload}
        onOpen=${(kind) => setOpen({ kind, ...chosen })}
      />`
    }
    <${Pagination} pagination=${links.data?.pagination} noun="link" />
    ${open?.kind === "form" && html`<${LinkDialog} ...${dialog} />`}
    ${open?.kind === "many" && html`<${BulkDialog} ...${dialog} />`}
    ${open?.kind === "qr" && html`<${QrDialog} ...${dialog} />`}
    ${open?.kind === "options" && html`<${OptionsDialog} ...${dialog} />`}
    ${open?.kind === "tags" && html`<${TagsDialog} ...${dialog} />`}
  `;
}

function Filters({ query }) {
  const choice = (name, label, options, usual = "") => html`<${Choice}
    ...${{ label, options, value: query[name] ?? usual }}
    onInput=${(value) => setQuery({ [name]: value, page: null })}
  />`;
  return html`<div class="filters">
    <${SearchBox} label="Search name, slug or destination" />
    ${choice("state", "State", STATES)}
    ${can("tags:read") && html`<${TagFilter} tags=${query.tags} operator=${query.tagOperator} />`}
    ${choice("sort", "Order", can("reports:read") ? [...SORTS, ...FIGURE_SORTS] : SORTS)}
    ${can("reports:read") && choice("period", "Figures of", Object.entries(PERIODS), DEFAULT_PERIOD)}
    <${UtmChips} query=${query} />
  </div>`;
}

/** The filter by tags: a button that opens their boxes. The ids are in the URL. */
function TagFilter({ tags, operator }) {
  const [open, setOpen] = useState(false);
  const selected = tags ? tags.split(",") : [];
  return html`
    <${Button} icon="tag" onClick=${() => setOpen(true)}>
      ${selected.length ? format.count(selected.length, "tag") : "Tags"}
    <//>
    ${
      open &&
      html`<${TagFilterDialog} ...${{ selected, operator }} onClose=${() => setOpen(false)} />`
    }
  `;
}

function NoLinks({ query, create }) {
  const narrowed = Object.keys(query).some((name) => !["page", "sort", "period"].includes(name));
  if (narrowed) {
    const clear = () =>
      setQuery({
        search: null,
        state: null,
        tags: null,
        tagOperator: null,
        page: null,
        ...noUtmFilters(),
      });
    return html`<${Empty}
      title="No link fits"
      action=${html`<${Button} onClick=${clear}>Show all links<//>`}
    >
      <p>Try another word, or fewer filters.</p>
    <//>`;
  }
  if (query.page > 1)
    return html`<${Empty}
      title="This page is empty"
      action=${html`<${Button} onClick=${() => setQuery({ page: null })}>To the first page<//>`}
    />`;
  const action =
    create &&
    html`<div class="row">
      <${Button} kind="main" icon="plus" onClick=${create}>Create your first link<//>
      <a class="button" href="/console/start">Show me how it works</a>
    </div>`;
  return html`<${Empty} title="No links yet" action=${action}>
    <p>
      A link records each click and leads on: <code>${location.host}/c/spring</code> to${" "}
      <code>https://shop.example/offer?utm_source=newsletter</code>
    </p>
  <//>`;
}
