/** The columns of the list of links, and what can be done with one. */

import { api } from "console/core/api";
import { html } from "console/core/html";
import { Badge, CopyButton, Menu, OutLink, Tag, Time } from "console/core/parts";
import { route } from "console/core/route";
import { can } from "console/core/session";
import { copy } from "console/core/toasts";
import { queryText } from "console/core/url";
import { changeAll, setArchived, showError, toastChange } from "console/links/changes";
import { TEXTS } from "console/links/fields";
import { FIGURES, NO_FIGURES } from "console/links/figures";
import { State } from "console/links/options";
import { UtmValues, hasUtm } from "console/links/utm";
import { MEASURES } from "console/reports/measures";

/**
 * Return the columns of the list. `figures` are by id: null while they load. `order` is how the
 * list is sorted.
 */
export function columns(rows, mayWrite, figures, setOpen, reload, order = "") {
  return [
    {
      label: "Link",
      wide: true,
      sort: { ascending: "name" },
      cell: (link) => html`<${Name} link=${link} />`,
    },
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
        html`<span class="tags">${tags.map((tag) => html`<${TagLink} tag=${tag} />`)}</span>`,
    },
    { label: "State", cell: (link) => html`<${State} link=${link} />` },
    ...FIGURES.map((name) => figureColumn(name, figures, order)),
    {
      label: "Last click",
      sort: { descending: "last_click" },
      cell: (link) => html`<${Time} at=${link.last_click_at} />`,
    },
    {
      label: "Created",
      sort: { ascending: "oldest", descending: "newest" },
      cell: (link) => html`<${Time} at=${link.created_at} />`,
    },
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

function figureColumn(name, figures, order) {
  const [label, text] = MEASURES[name];
  const descending = `-${name}`;
  // The largest first, then the other way round.
  const ascending = [descending, name].includes(order) ? name : undefined;
  return {
    ...{ label, numeric: true },
    sort: can("reports:read") && { ascending, descending },
    cell: ({ id }) =>
      figures
        ? text((figures.get(id) ?? NO_FIGURES)[name])
        : html`<span class="faint">${figures === null ? "…" : "–"}</span>`,
  };
}

/** A tag of a row, which leads to the links that have it. */
function TagLink({ tag: { id, name } }) {
  const query = { ...route.value.query, tags: id, tagOperator: null, page: null };
  return html`<${Tag}><a href="/console/links${queryText(query)}">${name}</a><//>`;
}

function Name({ link }) {
  return html`<span class="main-cell">
    <a href="/console/links/${link.id}">${link.internal_name}</a>
    <span class="short-url">
      ${link.short_url.replace(/^https?:\/\//, "")}
      <${CopyButton} text=${link.short_url} label="Copy ${link.short_url}" />
      ${isUnproven(link) && html`<${Badge} kind="warning">domain not verified<//>`}
    </span>
  </span>`;
}

/** Return whether a link is on a domain that is not proven: there it is only below /c/. */
function isUnproven({ domain_id, short_url }) {
  return domain_id && new URL(short_url).pathname.startsWith("/c/");
}

function actions(link, mayWrite, setOpen, reload) {
  const change = (fields, text) => () =>
    api.patch(`/api/short-links/${link.id}`, fields).then((changed) => {
      toastChange(text, link, changed, Object.keys(fields), reload);
      reload();
    }, showError);
  const archive = (to) => () => {
    const one = { name: link.internal_name, change: (set) => changeAll({ links: [link] }, set) };
    return setArchived(one, to, reload).catch(showError);
  };
  return [
    { label: "Open its page", icon: "search", href: `/console/links/${link.id}` },
    { label: "Copy its URL", icon: "copy", run: () => copy(link.short_url) },
    { label: "QR code", icon: "qr", run: () => setOpen({ kind: "qr", link }) },
    mayWrite &&
      !link.archived && { label: "Edit", icon: "edit", run: () => setOpen({ kind: "form", link }) },
    mayWrite && {
      label: "Duplicate",
      icon: "plus",
      run: () => setOpen({ kind: "form", like: link }),
    },
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
        run: archive(true),
      },
    mayWrite &&
      link.archived && {
        label: "Restore",
        icon: "refresh",
        run: archive(false),
      },
  ];
}
