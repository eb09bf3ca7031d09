/** Links: the list, with search, filters, and changes of many at once. */

import { useCallback, useEffect, useState } from "preact/hooks";
import { api, owned } from "console/core/api";
import { lastDays } from "console/core/dates";
import { format } from "console/core/format";
import { useAction, useLoad, useShortcut } from "console/core/hooks";
import { html } from "console/core/html";
import { Pagination, SearchBox, Table } from "console/core/lists";
import {
  Button,
  Choice,
  CopyButton,
  CsvButton,
  Empty,
  Menu,
  OutLink,
  PageHeader,
  Tag,
  Time,
  lazy,
} from "console/core/parts";
import { route, setQuery } from "console/core/route";
import { can, seesAll, today } from "console/core/session";
import { toast } from "console/core/toasts";
import { TEXTS } from "console/links/fields";
import { State } from "console/links/options";
import { UtmChips, UtmValues, hasUtm, noUtmFilters, utmFilters } from "console/links/utm";

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

/** The page. Its filters are in the URL; what is selected or open is state. */
export default function Links() {
  const { query } = route.value;
  const links = useLoad(
    (signal) => api.get("/api/short-links", parameters(query), signal),
    [JSON.stringify(query)],
  );
  const rows = links.data?.rows ?? [];
  const clicks = useClicks(rows);
  const [selected, setSelected] = useState(new Set());
  const [open, setOpen] = useState(null);
  const mayWrite = can("links:write");
  const create = useCallback(() => mayWrite && setOpen({ kind: "form" }), [mayWrite]);
  useShortcut("c", "Create a link", create);
  // What is not on screen is not selected: nobody changes what they do not see.
  useEffect(
    () => setSelected((old) => new Set(rows.map(({ id }) => id).filter((id) => old.has(id)))),
    [links.data],
  );
  const dialog = { ...open, onClose: () => setOpen(null), onDone: links.reload };
  const selection = mayWrite && {
    selected,
    onSelect: setSelected,
    rowLabel: (link) => link.internal_name,
  };

  return html`
    <${PageHeader} title="Links">
      <${CsvButton} path="/api/short-links" query=${parameters(query)} />
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
      columns=${columns(rows, mayWrite, clicks, setOpen, links.reload)}
      empty=${html`<${NoLinks} query=${query} create=${mayWrite && create} />`}
    />
    ${
      selected.size > 0 &&
      html`<${BulkBar}
        links=${rows.filter(({ id }) => selected.has(id))}
        reload=${links.reload}
        onOpen=${(kind) => setOpen({ kind, links: rows.filter(({ id }) => selected.has(id)) })}
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

/** Return the parameters of the API for the filters in the URL. */
function parameters({ page, search, tags, tagOperator, state, sort, ...others }) {
  return {
    ...utmFilters(others),
    page,
    search,
    sort,
    selectedTags: tags,
    tagOperator: tags && tagOperator,
    active: ["true", "false"].includes(state) ? state : undefined,
    archived: state === "archived" ? true : undefined,
    state: ["scheduled", "expired", "used_up", "protected"].includes(state) ? state : undefined,
  };
}

function Filters({ query }) {
  const choice = (name, label, options) => html`<${Choice}
    ...${{ label, options, value: query[name] ?? "" }}
    onInput=${(value) => setQuery({ [name]: value, page: null })}
  />`;
  return html`<div class="filters">
    <${SearchBox} label="Search name, slug or destination" />
    ${choice("state", "State", STATES)}
    ${can("tags:read") && html`<${TagFilter} tags=${query.tags} operator=${query.tagOperator} />`}
    ${choice("sort", "Order", SORTS)}
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

/** Return the columns of the list. `clicks` are counts by id; null while they load. */
export function columns(rows, mayWrite, clicks, setOpen, reload) {
  return [
    { label: "Link", wide: true, cell: (link) => html`<${Name} link=${link} />` },
    {
      label: "Destination",
      cell: (link) =>
        html`<span class="truncate destination">
          <${OutLink} url=${link.destination_url}>
            ${link.destination_url.replace(/^https?:\/\//, "")}
          <//>
        </span>`,
    },
    ...(rows.some(hasUtm)
      ? [{ label: "UTM", cell: (link) => hasUtm(link) && html`<${UtmValues} link=${link} />` }]
      : []),
    ...TEXTS.slice(1)
      .filter(({ name }) => rows.some((link) => link[name]))
      .map(({ name, label }) => ({ label, cell: (link) => link[name] })),
    {
      label: "Tags",
      cell: ({ tags }) =>
        tags.length > 0 &&
        html`<span class="tags">${tags.map(({ name }) => html`<${Tag}>${name}<//>`)}</span>`,
    },
    { label: "State", cell: (link) => html`<${State} link=${link} />` },
    {
      label: "Clicks, 30 days",
      numeric: true,
      cell: ({ id }) =>
        clicks
          ? format.number(clicks.get(id) ?? 0)
          : html`<span class="faint">${clicks === null ? "…" : "–"}</span>`,
    },
    { label: "Last click", cell: (link) => html`<${Time} at=${link.last_click_at} />` },
    { label: "Created", cell: (link) => html`<${Time} at=${link.created_at} />` },
    {
      label: "Actions",
      actions: true,
      cell: (link) =>
        html`<${Menu}
          label="Actions for ${link.internal_name}"
          items=${actions(link, mayWrite, setOpen, reload)}
        />`,
    },
  ];
}

function Name({ link }) {
  return html`<span class="main-cell">
    <a href="/console/links/${link.id}">${link.internal_name}</a>
    <span class="short-url">
      ${link.short_url.replace(/^https?:\/\//, "")}
      <${CopyButton} text=${link.short_url} label="Copy ${link.short_url}" />
    </span>
  </span>`;
}

function actions(link, mayWrite, setOpen, reload) {
  const change = (fields, text) => () =>
    api.patch(`/api/short-links/${link.id}`, fields).then(() => (toast(text), reload()), showError);
  return [
    { label: "Open its page", icon: "search", href: `/console/links/${link.id}` },
    { label: "QR code", icon: "qr", run: () => setOpen({ kind: "qr", link }) },
    mayWrite &&
      !link.archived && { label: "Edit", icon: "edit", run: () => setOpen({ kind: "form", link }) },
    mayWrite &&
      !link.archived &&
      link.active && {
        label: "Pause",
        run: change({ active: false }, "Paused: visitors get “not found”"),
      },
    mayWrite &&
      !link.archived &&
      !link.active && {
        label: "Activate",
        icon: "check",
        run: change({ active: true }, "Active again"),
      },
    mayWrite &&
      !link.archived && {
        label: "Archive",
        icon: "archive",
        kind: "danger",
        run: () => setArchived([link], true, reload).catch(showError),
      },
    mayWrite &&
      link.archived && {
        label: "Restore",
        icon: "refresh",
        run: () => setArchived([link], false, reload).catch(showError),
      },
  ];
}

function showError(error) {
  toast(error.message, { kind: "bad" });
}

/** Archive or restore links together, and offer to undo it. */
async function setArchived(links, archived, reload) {
  const change = (to) =>
    api
      .patch("/api/short-links/bulk", owned({ ids: links.map(({ id }) => id), archived: to }))
      .then(reload);
  await change(archived);
  const subject =
    links.length === 1
      ? `“${links[0].internal_name}” is`
      : `${format.number(links.length)} links are`;
  const undo = { label: "Undo", run: () => change(!archived).catch(showError) };
  toast(`${subject} ${archived ? "archived" : "restored"}`, { action: undo });
}

/** What can be done with the selected links, at the bottom of the screen. */
function BulkBar({ links, reload, onOpen }) {
  const archived = links.some((link) => link.archived);
  const [act, busy] = useAction((work) => work().catch(showError));
  const setActive = (active) => async () => {
    await api.patch("/api/short-links/bulk", owned({ ids: links.map(({ id }) => id), active }));
    toast(`${format.count(links.length, "link")} ${active ? "activated" : "paused"}`);
    reload();
  };
  return html`<div class="bulk" role="region" aria-label="Selected links">
    <span>${format.count(links.length, "link")} selected</span>
    ${
      archived
        ? html`<${Button}
          icon="refresh"
          busy=${busy}
          onClick=${() => act(() => setArchived(links, false, reload))}
        >
          Restore
        <//>`
        : html`
          <${Button} icon="tag" onClick=${() => onOpen("tags")}>Tag<//>
          <${Button} onClick=${() => onOpen("options")}>Options<//>
          <${Button} busy=${busy} onClick=${() => act(setActive(false))}>Pause<//>
          <${Button} busy=${busy} onClick=${() => act(setActive(true))}>Activate<//>
          <${Button}
            kind="danger"
            icon="archive"
            busy=${busy}
            onClick=${() => act(() => setArchived(links, true, reload))}
          >
            Archive
          <//>
        `
    }
  </div>`;
}

function NoLinks({ query, create }) {
  const narrowed = Object.keys(query).some((name) => !["page", "sort"].includes(name));
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

/**
 * Return the clicks of the last 30 days by link, once the list itself is on screen: null before,
 * undefined if they cannot be had.
 */
function useClicks(rows) {
  const [clicks, setClicks] = useState(null);
  const ids = rows.map(({ id }) => id);
  useEffect(() => {
    setClicks(null);
    if (!ids.length || !can("reports:read")) return undefined;
    let current = true;
    api
      .post(
        "/api/reports",
        owned({
          dateRange: lastDays(30, today()),
          groupBy: "link",
          filters: { link: ids },
          pageSize: 100,
        }),
      )
      .then(
        ({ rows: found }) =>
          current && setClicks(new Map(found.map((row) => [row.key, row.clicks]))),
      )
      .catch(() => current && setClicks(undefined));
    return () => (current = false);
  }, [ids.join()]);
  return clicks;
}
