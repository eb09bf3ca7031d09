/**
 * What every page needs: the API client, the session, the router, formats, and the common parts.
 *
 * It is one module, because the first page has a budget of requests. Text from the API reaches the
 * document only as text: nothing here or in any page writes HTML.
 */

import { Component, createContext, h } from "preact";
import {
  useCallback,
  useContext,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from "preact/hooks";
import { batch, computed, signal } from "@preact/signals";
import htm from "htm";

export {
  Component,
  createContext,
  useCallback,
  useContext,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
};
export { batch, computed, signal };

/** Build elements from a template: html`<p class="note">${text}</p>`. */
export const html = htm.bind(h);

// ---------------------------------------------------------------------------------- the session

/** The session as the API returns it; null when signed out, undefined until it is known. */
export const session = signal(
  document.documentElement.dataset.session === "yes" ? undefined : null,
);

/** Whether the session ended by itself, which the sign-in page then says. */
export const sessionEnded = signal(false);

/** Return whether the role of the session has a scope, such as "links:write". */
export function can(scope) {
  const scopes = session.value?.scopes;
  if (scopes === undefined) return false;
  return scopes === null || scopes.includes(scope) || scopes.includes(`${scope.split(":")[0]}:*`);
}

/** Ask the API who is signed in, and set `session`. An unreachable service leaves it unchanged. */
export async function loadSession() {
  try {
    session.value = await api.get("/api/session");
  } catch (error) {
    if (error.status !== 401) throw error;
    sessionEnded.value = true;
    session.value = null;
  }
}

/** Sign out, and leave nothing in the history or in drafts that shows the account. */
export async function signOut() {
  try {
    await api.delete("/api/session");
  } catch (error) {
    if (error.status !== 401)
      return toast(`You are still signed in. ${error.message}`, { kind: "bad" });
  }
  sessionStorage.clear();
  location.replace("/console/sign-in");
}

// ------------------------------------------------------------------------------- the API client

const TIMEOUT_MS = 15_000;

/**
 * An answer that is an error, or none at all (`status` 0). `text` is that of the API; `words` say
 * the same to people, if there are any. The message adds when to try again.
 */
export class ApiError extends Error {
  constructor(status, code, text, { retryAfter = 0, progress = 0, words = "" } = {}) {
    super(
      (words || text) + (retryAfter ? ` Try again in ${format.count(retryAfter, "second")}.` : ""),
    );
    this.status = status;
    this.code = code;
    this.text = text;
    this.words = words;
    this.retryAfter = retryAfter;
    /** The share of a report that is counted and kept, from 0 to 1. */
    this.progress = progress;
  }

  /** Return the field that the API names ("slug: already taken"), or "". */
  get field() {
    return /^([\w.[\]]+): /.exec(this.text)?.[1] ?? "";
  }

  /** Return what is wrong with the field, without its name. */
  get rule() {
    return this.words ? this.message : this.text.replace(/^[\w.[\]]+: /, "");
  }

  /** Return whether the same request may succeed later. */
  get mayPass() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/** The client of the API. Every function returns the parsed answer, or throws an ApiError. */
export const api = {
  get: (path, query, signal) => request("GET", path, { query: owned(query), signal }),
  post: (path, body = {}, { signal, timeout } = {}) =>
    request("POST", path, { body, signal, timeout }),
  patch: (path, body = {}) => request("PATCH", path, { body }),
  delete: (path) => request("DELETE", path, { body: {} }),
};

/** Return fields together with the account of the session. */
export function owned(fields) {
  const account = session.value?.account?.id;
  return account ? { accountId: account, ...fields } : { ...fields };
}

async function request(method, path, options) {
  return (await send(method, path, options)).json().catch(() => null);
}

/** Send a request of the API, and return the answer as it is. Throws an ApiError if it is one. */
export async function send(method, path, { query, body, signal, timeout = TIMEOUT_MS }) {
  const late = AbortSignal.timeout(timeout);
  const answer = await fetched(path + queryText(query), {
    method,
    headers: body ? { "Content-Type": "application/json" } : {},
    body: body && JSON.stringify(body),
    signal: signal ? AbortSignal.any([signal, late]) : late,
    credentials: "same-origin",
    redirect: "error",
  });
  if (answer.ok) return answer;
  const error = await errorOf(answer);
  followSession(path, error);
  throw error;
}

async function errorOf(answer) {
  const { status, headers } = answer;
  const value = await answer.json().catch(() => null);
  const code = headers.get("X-Error-Code") ?? "";
  const text = value?.error ?? `The service answered ${status}.`;
  const words = await import("console/parts/errors").then(
    ({ wordsFor }) => wordsFor({ code, text }),
    () => "",
  );
  const retryAfter = Number(headers.get("Retry-After") ?? 0);
  return new ApiError(status, code, text, {
    retryAfter,
    progress: Number(headers.get("X-Report-Progress") ?? 0),
    words,
  });
}

async function fetched(url, options) {
  try {
    return await fetch(url, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    const late = error.name === "TimeoutError";
    throw new ApiError(
      0,
      "",
      late ? "The service did not answer." : "The service cannot be reached.",
    );
  }
}

/** Notice that the session ended, or that another tab has switched to another account. */
function followSession(path, error) {
  if (error.status === 401 && session.value && !path.startsWith("/api/session")) {
    sessionEnded.value = true;
    session.value = null;
  } else if (error.status === 403 && error.field === "accountId") {
    location.reload();
  }
}

/** Return a query string. Empty values are left out; lists repeat their name. */
export function queryText(query) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    for (const one of [value].flat()) {
      if (one !== undefined && one !== null && one !== "") parameters.append(name, one);
    }
  }
  const text = parameters.toString();
  return text && `?${text}`;
}

/** Return the values of a filter in the URL: separated by commas, which values have escaped. */
export function splitValues(text) {
  return text
    ? text.split(",").map((one) => one.replaceAll("%2C", ",").replaceAll("%25", "%"))
    : [];
}

/** Return values as one text for the URL; null if there are none. */
export function joinValues(values) {
  return values.length
    ? values.map((one) => one.replaceAll("%", "%25").replaceAll(",", "%2C")).join(",")
    : null;
}

// ----------------------------------------------------------------------------------- the router

/** The address of the page: its path and its query. Filters live in the query. */
export const route = signal(currentRoute());

function currentRoute() {
  return {
    path: location.pathname,
    query: Object.fromEntries(new URLSearchParams(location.search)),
  };
}

let moved = false;
let previous = "";

/**
 * Go to an address of the console. `replace` leaves no entry in the history; with `stay` the page
 * is not scrolled to its top.
 */
export function navigate(href, { replace = false, stay = replace } = {}) {
  moved ||= !replace;
  if (!replace) previous = location.pathname + location.search;
  history[replace ? "replaceState" : "pushState"](null, "", href);
  route.value = currentRoute();
  if (!stay) scrollTo(0, 0);
}

/** Set parameters of the current page's query; null and "" remove one. */
export function setQuery(changes, { replace = true, stay } = {}) {
  navigate(route.value.path + queryText({ ...route.value.query, ...changes }), { replace, stay });
}

/** Follow links inside the console without loading the page again. */
export function startRouter() {
  addEventListener("popstate", () => (route.value = currentRoute()));
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    const plain =
      event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
    if (!link || !plain || event.defaultPrevented || link.target || link.hasAttribute("download"))
      return;
    const url = new URL(link.href);
    if (url.origin !== location.origin || !isConsolePath(url.pathname) || url.hash) return;
    event.preventDefault();
    navigate(url.pathname + url.search);
  });
}

const CONSOLE_PATH = /^\/console(?:\/[\w.~%-]+)+\/?(?:\?[\x21-\x5b\x5d-\x7e]*)?$/;

/**
 * Return `next` if it is the path of a page of the console, else the first page.
 *
 * Only what the console itself writes: no host, no "//", no backslash, no control character.
 */
export function nextPage(next) {
  if (typeof next !== "string" || !CONSOLE_PATH.test(next)) return HOME;
  // The browser resolves dots, also encoded ones.
  const { pathname, search } = new URL(next, location.origin);
  return isConsolePath(pathname) ? pathname + search : HOME;
}

export const HOME = "/console/overview";

function isConsolePath(path) {
  return path === "/console" || path.startsWith("/console/");
}

/** Return `url` if it is http or https, else undefined, which makes a link without a target. */
export function safeHref(url) {
  if (!URL.canParse(url, location.origin)) return undefined;
  const { protocol } = new URL(url, location.origin);
  return protocol === "https:" || protocol === "http:" ? url : undefined;
}

// -------------------------------------------------------------------------------------- formats

const NUMBER = new Intl.NumberFormat();
const COMPACT = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });
const MONEY = new Intl.NumberFormat(undefined, {
  minimumFractionDigits: 2,
  maximumFractionDigits: 6,
});
const PERCENT = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 1 });
const DATE = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const TIME = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
const UNITS = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

/** Return the day that it is in a time zone, as `2026-01-31`. */
export function todayIn(zone) {
  return new Intl.DateTimeFormat("en-CA", {
    timeZone: zone,
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
  }).format();
}

/** Return the last days of the account's time zone up to today, oldest first. */
export function lastDays(count) {
  const today = todayIn(session.value.account.time_zone);
  const ago = (days) => new Date(Date.parse(today) - days * 86_400_000).toISOString().slice(0, 10);
  return Array.from({ length: count }, (_, index) => ago(count - 1 - index));
}

/** Return the same as the range of days of a report. */
export function lastRange(count) {
  const days = lastDays(count);
  return { from: days[0], to: days.at(-1) };
}

/** Formats of numbers and times, in the reader's language and time zone. */
export const format = {
  number: (value) => NUMBER.format(value),
  compact: (value) => COMPACT.format(value),
  money: (value) => (value === null || value === undefined ? "–" : MONEY.format(value)),
  percent: (value) => PERCENT.format(value),
  date: (time) => DATE.format(new Date(time)),
  time: (time) => TIME.format(new Date(time)),
  exact: (time) => EXACT.format(new Date(time)),
  /** Return how long ago a time was, or its date after a week. */
  ago(time) {
    const seconds = (Date.parse(time) - Date.now()) / 1000;
    if (Math.abs(seconds) > 7 * 86_400) return format.date(time);
    const [unit, size] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? ["second", 1];
    return unit === "second" ? "just now" : RELATIVE.format(Math.trunc(seconds / size), unit);
  },
  /** Return a count with its noun: "1 link", "3 links". */
  count: (number, noun, plural = `${noun}s`) =>
    `${NUMBER.format(number)} ${number === 1 ? noun : plural}`,
};

// ---------------------------------------------------------------------------------------- hooks

/**
 * Load something, and again whenever `keys` change. Old data stays until new data is there.
 *
 * Return {data, error, loading, reload, set}. A load that was overtaken by another is aborted.
 */
export function useLoad(load, keys) {
  const [state, setState] = useState({ loading: true });
  const [attempt, setAttempt] = useState(0);
  const reached = useRef(0);
  useEffect(() => void (reached.current = 0), keys);
  useEffect(() => {
    const aborting = new AbortController();
    let timer;
    setState((old) => ({ data: old.data, loading: true, progress: reached.current }));
    const end = (state) => {
      reached.current = 0;
      setState((old) => ({ data: old.data, ...state, loading: false }));
    };
    const fail = (error) => {
      if (!(error.progress > reached.current)) return end({ error });
      // What is counted is kept: the next request goes on from there.
      reached.current = error.progress;
      setState((old) => ({ ...old, progress: error.progress }));
      timer = setTimeout(() => setAttempt((number) => number + 1), error.retryAfter * 1000);
    };
    load(aborting.signal)
      .then((data) => aborting.signal.aborted || end({ data }))
      .catch((error) => aborting.signal.aborted || fail(error));
    return () => {
      clearTimeout(timer);
      aborting.abort();
    };
  }, [...keys, attempt]);
  const reload = useCallback(() => setAttempt((number) => number + 1), []);
  const set = useCallback((change) => setState((old) => ({ ...old, data: change(old.data) })), []);
  return { ...state, reload, set };
}

/**
 * Run one action at a time: return [run, busy, error]. `run` returns the answer, or undefined after
 * an error, which stays until the next run.
 */
export function useAction(act) {
  const [state, setState] = useState({ busy: false });
  const running = useRef(false);
  const run = async (...given) => {
    if (running.current) return undefined;
    running.current = true;
    setState({ busy: true });
    try {
      const answer = await act(...given);
      setState({ busy: false });
      return answer ?? true;
    } catch (error) {
      setState({ busy: false, error });
      return undefined;
    } finally {
      running.current = false;
    }
  };
  return [run, state.busy, state.error];
}

/** Return `value` after it has not changed for `ms` milliseconds. */
export function useSettled(value, ms = 250) {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}

/** Shortcuts that the page on screen has, by key; the help dialog lists them. */
export const shortcuts = signal({});

/** Give the page a shortcut while it is shown, from its first painting on. */
export function useShortcut(key, label, run) {
  useLayoutEffect(() => {
    shortcuts.value = { ...shortcuts.peek(), [key]: { label, run } };
    return () => {
      const { [key]: _, ...others } = shortcuts.peek();
      shortcuts.value = others;
    };
  }, [key, label, run]);
}

/** Set the title of the document while a page is shown. */
export function useTitle(title) {
  useEffect(() => {
    document.title = `${title} · Tracker`;
  }, [title]);
}

// --------------------------------------------------------------------------------------- toasts

const TOAST_MS = 6_000;
let lastToast = 0;

/** The messages on screen, newest last. */
export const toasts = signal([]);

/** Show a message for some seconds. `action` is {label, run}, such as an undo. */
export function toast(text, { kind = "info", action } = {}) {
  const id = ++lastToast;
  toasts.value = [...toasts.peek().slice(-2), { id, text, kind, action }];
  setTimeout(() => dismissToast(id), action ? 2 * TOAST_MS : TOAST_MS);
}

/** Remove a message. */
export function dismissToast(id) {
  toasts.value = toasts.peek().filter((one) => one.id !== id);
}

/** Copy text, and say so. Return whether the browser did it. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    toast("The browser did not allow copying.", { kind: "bad" });
    return false;
  }
  toast("Copied");
  return true;
}

// ---------------------------------------------------------------------------------------- parts

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

/** A link that downloads all rows of a list that these filters find, not only those of a page. */
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

/**
 * A labelled field: its child is a function that gets {id, "aria-describedby", "aria-invalid"}.
 *
 * `error` is text, or an ApiError, which is shown here only if it names the field `name`.
 */
export function Field({ label, hint, error, name, children }) {
  const id = useId();
  const text = error instanceof ApiError ? (error.field === name ? error.rule : "") : error;
  const about = [hint && `${id}-hint`, text && `${id}-error`].filter(Boolean).join(" ");
  return html`<div class="field ${text ? "invalid" : ""}">
    <label for=${id}>${label}</label>
    ${children({
      id,
      "aria-describedby": about || undefined,
      "aria-invalid": text ? "true" : undefined,
    })}
    ${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}
    ${text && html`<p class="error" id="${id}-error">${text}</p>`}
  </div>`;
}

/** A field of text. `onInput` gets the text. Other properties go to the input. */
export function TextField({ label, hint, error, name, value, onInput, rows, prefix, ...others }) {
  return html`<${Field} ...${{ label, hint, error, name }}>${(given) => {
    const common = {
      ...given,
      name,
      value,
      onInput: (event) => onInput(event.target.value),
      ...others,
    };
    if (rows) return html`<textarea rows=${rows} ...${common} />`;
    const input = html`<input type="text" autocomplete="off" ...${common} />`;
    return prefix ? html`<div class="prefixed"><span>${prefix}</span>${input}</div>` : input;
  }}<//>`;
}

/** A choice among `options`, pairs of value and label. `onInput` gets the value. */
export function Select({ label, hint, error, name, value, options, onInput, ...others }) {
  return html`<${Field} ...${{ label, hint, error, name }}>${(given) => html`
    <select
      ...${given}
      name=${name}
      value=${value}
      onChange=${(event) => onInput(event.target.value)}
      ...${others}
    >
      ${options.map(
        ([one, text]) => html`<option value=${one} selected=${one === value}>${text}</option>`,
      )}
    </select>
  `}<//>`;
}

/** A box to tick. `onInput` gets true or false. */
export function Checkbox({ label, hint, checked, onInput, hideLabel, ...others }) {
  const id = useId();
  return html`<div class="checkbox">
    <input
      id=${id}
      type="checkbox"
      checked=${checked}
      aria-describedby=${hint ? `${id}-hint` : undefined}
      onChange=${(event) => onInput(event.target.checked)}
      ...${others}
    />
    <label for=${id} class=${hideLabel ? "visually-hidden" : ""}>${label}</label>
    ${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}
  </div>`;
}

/** A switch: what it says holds at once, without a button to save. `onInput` gets true or false. */
export function Switch({ label, hint, checked, onInput, ...others }) {
  return html`<div class="switch">
    <${Checkbox} ...${{ label, hint, checked, onInput }} role="switch" ...${others} />
  </div>`;
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
  const [from] = useState(previous);
  useTitle(title);
  // Not on the first page, where the focus begins at the top like in any document.
  useEffect(() => moved && heading.current.focus({ preventScroll: true }), []);
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
  const { page, totalPages, totalRows } = pagination;
  const go = (to) => setQuery({ page: to === 1 ? null : to }, { replace: false });
  return html`<nav class="pagination" aria-label="Pages">
    <span>${format.count(totalRows, noun, plural)}</span>
    ${
      totalPages > 1 &&
      html`
        <${Button} disabled=${page <= 1} onClick=${() => go(page - 1)}>Previous<//>
        <span>Page ${format.number(page)} of ${format.number(totalPages)}</span>
        <${Button} disabled=${page >= totalPages} onClick=${() => go(page + 1)}>Next<//>
      `
    }
  </nav>`;
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
