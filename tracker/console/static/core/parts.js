/**
 * Parts of every page. Text from the API reaches the document only as text: no part writes HTML.
 */

import { h } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { ApiError, owned } from "console/core/api";
import { format } from "console/core/format";
import { useTitle } from "console/core/hooks";
import { html } from "console/core/html";
import { cameFrom, route } from "console/core/route";
import { copy } from "console/core/toasts";
import { queryText, safeHref } from "console/core/url";

/** Paths of the icons, in a box of 20 by 20, drawn with a stroke. */
const ICONS = {
  archive: "M3 5.5h14v3H3zM4.5 8.5v7h11v-7M8 11.5h4",
  back: "m12 5-5 5 5 5",
  chart: "M3.5 16.5h13M6 13.5V9M10 13.5V4M14 13.5V7",
  check: "m4 10.5 4 4 8-9",
  chevron: "m6 8 4 4 4-4",
  close: "M5 5l10 10M15 5 5 15",
  copy: "M7.5 7.5h9v9h-9zM12.5 7.5v-4h-9v9h4",
  download: "M10 3.5v9M6.5 9.5 10 13l3.5-3.5M4 16.5h12",
  edit: "m12.5 4 3.5 3.5L7.5 16H4v-3.5z",
  external: "M11 4h5v5M16 4l-7.5 7.5M13.5 11.5V16h-9.5V6.5h4.5",
  filter: "M3 5h14l-5.5 6.5V16l-3-1.5v-3z",
  forward: "m8 5 5 5-5 5",
  help: "M10 17.5a7.5 7.5 0 1 0 0-15 7.5 7.5 0 0 0 0 15M7.8 7.8c.2-2.8 4.6-2.6 4.3.1-.2 1.5-2.1 1.6-2.1 3.4M10 14v.3",
  key: "M12.5 11a4 4 0 1 0-3.6-2.3L3 14.5V17h3v-2h2v-2l1.8-1.8a4 4 0 0 0 2.7-.2M13 6.5v.1",
  menu: "M3 5.5h14M3 10h14M3 14.5h14",
  more: "M4.5 9.5a.5.5 0 1 0 0 1 .5.5 0 0 0 0-1M10 9.5a.5.5 0 1 0 0 1 .5.5 0 0 0 0-1M15.5 9.5a.5.5 0 1 0 0 1 .5.5 0 0 0 0-1",
  plus: "M10 4v12M4 10h12",
  qr: "M3.5 3.5h5v5h-5zM11.5 3.5h5v5h-5zM3.5 11.5h5v5h-5zM11.5 11.5h2v2M16.5 14v2.5h-3",
  refresh: "M16 10a6 6 0 1 1-1.8-4.3M16.5 3.5v3h-3",
  search: "M9 15A6 6 0 1 0 9 3a6 6 0 0 0 0 12M13.5 13.5 17 17",
  sort: "M6 8l4-4 4 4M6 12l4 4 4-4",
  tag: "M3.5 3.5h6.5l7 7-6.5 6.5-7-7zM7 7v.1",
  theme: "M10 3v14a7 7 0 0 0 0-14M10 3a7 7 0 0 0 0 14",
  trash: "M4 6h12M8 6V4h4v2M5.5 6l.7 10.5h7.6L14.5 6M8.5 9v5M11.5 9v5",
  warning: "M10 3.5 17.5 16.5h-15zM10 8.5v3.5M10 14.2v.1",
};

/** The names that `Icon` knows. */
export const ICON_NAMES = Object.keys(ICONS);

/**
 * An icon. It is decoration: the text beside it, or the label of its button, says what it means.
 */
export function Icon({ name }) {
  return html`<svg class="icon" viewBox="0 0 20 20" aria-hidden="true" focusable="false">
    <path d=${ICONS[name]} />
  </svg>`;
}

/**
 * A button. `kind` is "main", "plain" (default), "quiet" or "danger". With `icon` and `label` but
 * no children it shows only the icon. With `href` it is a link that looks like a button.
 */
export function Button({
  kind = "plain",
  icon,
  label,
  href,
  busy,
  children,
  class: more = "",
  ...others
}) {
  const only = icon && !children;
  const content = html`${icon && html`<${Icon} name=${icon} />`}${children}`;
  const given = {
    class: `button ${kind} ${only ? "only-icon" : ""} ${more}`,
    "aria-label": label,
    title: only ? label : undefined,
    ...others,
  };
  if (href) return html`<a href=${href} ...${given}>${content}</a>`;
  return html`<button
    type="button"
    aria-busy=${busy || undefined}
    ...${given}
    disabled=${others.disabled || busy}
  >
    ${content}
  </button>`;
}

/** A link that downloads all rows that match the filters of a list, not only one page. */
export function CsvButton({ path, query }) {
  const href = path + queryText(owned({ ...query, page: null, format: "csv" }));
  return html`<${Button} icon="download" href=${href} download>CSV<//>`;
}

const MenuItems = lazy("console/parts/menu", "MenuItems");

/**
 * A button with a menu. `items` are {label, icon?, run | href, kind?, disabled?}, or null, which is
 * left out. Without children the button shows only `icon`.
 *
 * The browser shows the menu above everything, closes it by Escape or a click beside it, and gives
 * the focus back. Its items are loaded when it is first opened.
 */
export function Menu({ label, icon = "more", kind = "quiet", items, children }) {
  const id = useId();
  const [open, setOpen] = useState(false);
  return html`<span class="menu">
    <${Button}
      ...${{ kind, icon, label }}
      popovertarget=${id}
      aria-haspopup="menu"
      aria-expanded=${open}
    >
      ${children}
    <//>
    <div id=${id} popover="auto" onToggle=${(event) => setOpen(event.newState === "open")}>
      ${open && html`<${MenuItems} label=${label} items=${items} />`}
    </div>
  </span>`;
}

/**
 * A choice without a visible label. `options` are pairs of value and text, or of the name of a
 * group and its pairs. `onInput` gets the value. Other properties go to the element.
 */
export function Choice({ label, value, options, onInput, ...others }) {
  const option = ([one, text]) =>
    Array.isArray(text)
      ? html`<optgroup label=${one}>${text.map(option)}</optgroup>`
      : html`<option value=${one} selected=${one === value}>${text}</option>`;
  return html`<select
    aria-label=${label}
    value=${value}
    onChange=${(event) => onInput(event.target.value)}
    ...${others}
  >
    ${options.map(option)}
  </select>`;
}

/** A button that copies `text`. */
export function CopyButton({ text, label = "Copy", children }) {
  return html`<${Button} kind="quiet" icon="copy" label=${label} onClick=${() => copy(text)}>
    ${children}
  <//>`;
}

/** A link to a page outside of the console, opened beside it; plain text if it is not http(s). */
export function OutLink({ url, children }) {
  const href = safeHref(url);
  if (!href) return html`<span>${children ?? url}</span>`;
  return html`<a href=${href} target="_blank" rel="noopener noreferrer" class="out">
    ${children ?? url}
  </a>`;
}

/** The name of a tag or of a filter. With `onRemove` it has a button that takes it away. */
export function Tag({ children, label = children, onRemove }) {
  return html`<span class="tag">
    <span>${children}</span>
    ${
      onRemove &&
      html`<${Button} kind="quiet" icon="close" label="Remove ${label}" onClick=${onRemove} />`
    }
  </span>`;
}

/** A short state, such as "Active". `kind` is "good", "bad", "warning", "accent" or "quiet". */
export function Badge({ kind = "quiet", children }) {
  return html`<span class="badge ${kind}">${children}</span>`;
}

/** A time as people say it, with the exact time as its title. */
export function Time({ at, none = "–", exact }) {
  if (!at) return html`<span class="faint">${none}</span>`;
  return html`<time datetime=${at} title=${format.exact(at)}>
    ${exact ? format.time(at) : format.ago(at)}
  </time>`;
}

/**
 * The head of a page: its title, what it is about, and its actions. Takes the focus.
 *
 * `back` leads to the list with the filters with which it was left.
 */
export function PageHeader({ title, about, children, back }) {
  const heading = useRef(null);
  const [{ hasMoved, previousAddress: from }] = useState(cameFrom);
  useTitle(title);
  // Not on the first page, where the focus begins at the top like in any document.
  useEffect(() => hasMoved && heading.current.focus({ preventScroll: true }), []);
  return html`<header class="page-header">
    <div>
      ${
        back &&
        html`<a class="back" href=${from.split("?")[0] === back.href ? from : back.href}>
          ${back.label}
        </a>`
      }
      <h1 tabindex="-1" ref=${heading}>${title}</h1>
      ${about && html`<p class="about">${about}</p>`}
    </div>
    ${children && html`<div class="actions">${children}</div>`}
  </header>`;
}

/**
 * A note about an error, with a way to try again where that may help.
 *
 * `fields` are the names of the fields on screen: they show their errors themselves.
 */
export function ErrorNote({ error, retry, fields = [] }) {
  if (!error || fields.includes(error.field)) return null;
  return html`<div class="note bad" role="alert">
    <${Icon} name="warning" />
    <p>${error.message}</p>
    ${retry && error.mayPass && html`<${Button} onClick=${retry}>Try again<//>`}
  </div>`;
}

/** What a list shows while it has nothing: what would be here, and how to begin. */
export function Empty({ title, children, action }) {
  return html`<div class="empty"><h2>${title}</h2><div>${children}</div>${action}</div>`;
}

/** Lines in the shape of what is being loaded. */
export function Skeleton({ lines = 3 }) {
  return html`<div class="skeleton" aria-hidden="true">
    ${Array.from({ length: lines }, () => html`<span />`)}
  </div>`;
}

/** The pages of one subject, as links. `tabs` are {href, label}. */
export function Tabs({ label, tabs }) {
  const here = route.value.path;
  return html`<nav class="tabs" aria-label=${label}>
    ${tabs.map(
      ({ href, label: text }) => html`<a
        href=${href}
        aria-current=${href === here ? "page" : undefined}
      >
        ${text}
      </a>`,
    )}
  </nav>`;
}

/**
 * Return a part that is loaded when it is first shown: lazy("console/parts/dialog", "Dialog").
 *
 * `waiting` is shown meanwhile. Its property `load` is a function that loads it before that.
 */
export function lazy(module, name = "default", waiting = null) {
  let loading = null;
  let part = null;
  const load = () => (loading ??= import(module).then((found) => (part = found[name])));
  function Lazy(properties) {
    const [, setLoaded] = useState(false);
    const [error, setError] = useState(null);
    useEffect(() => {
      load().then(() => setLoaded(true), setError);
    }, []);
    // A failed import stays failed until the page is loaded again, as after a new release.
    if (error)
      return html`<${ErrorNote}
        error=${new ApiError(0, "", "This part could not be loaded.")}
        retry=${() => location.reload()}
      />`;
    return part ? h(part, properties) : waiting;
  }
  return Object.assign(Lazy, { load });
}
