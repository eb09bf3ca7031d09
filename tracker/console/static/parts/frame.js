/** The frames of pages: with the navigation of an account, and without a session. */

import { useEffect, useState } from "preact/hooks";
import { api } from "console/core/api";
import { html } from "console/core/html";
import { Badge, Button, Choice, lazy } from "console/core/parts";
import { navigate, route } from "console/core/route";
import { can, seesAll, session } from "console/core/session";
import { dismissToast, toast, toasts } from "console/core/toasts";
import { HOME } from "console/core/url";
import { useKeys } from "console/parts/keys";

/** The pages in the navigation, with the second key of their shortcut (`g`, then this key). */
const NAVIGATION = [
  { href: "/console/overview", label: "Overview", key: "o", scope: "reports:read" },
  { href: "/console/table", label: "Table", key: "b", scope: "reports:read" },
  { href: "/console/links", label: "Links", key: "l", scope: "links:read" },
  { href: "/console/live", label: "Live", key: "i", scope: "conversions:read", whole: true },
  { href: "/console/conversions", label: "Conversions", key: "v", scope: "conversions:read" },
  { href: "/console/events", label: "Events", key: "e", scope: "event_configs:read" },
  { href: "/console/webhooks", label: "Webhooks", key: "w", scope: "webhooks:read" },
  { href: "/console/domains", label: "Domains", key: "d", scope: "domains:read" },
  { href: "/console/tags", label: "Tags", key: "t", scope: "tags:read" },
  { href: "/console/costs", label: "Costs", key: "c", scope: "costs:read" },
  { href: "/console/settings", label: "Settings", key: "s" },
];

/** Return the pages that the reader may see. A `whole` one shows all links, or nothing. */
function seenPages() {
  return NAVIGATION.filter(({ scope, whole }) => (!scope || can(scope)) && (!whole || seesAll()));
}

const PaletteDialog = lazy("console/parts/palette", "PaletteDialog");
const AccountDialog = lazy("console/parts/accounts", "AccountDialog");
const LiveCount = lazy("console/live/count", "LiveCount");
const DialogHelp = lazy("console/parts/help", "HelpDialog");

const LATER_MS = 700;

/**
 * What surrounds a page: the head, messages and dialogs. `pageAt(path)` returns {page, params}.
 */
export function Frame({ pageAt }) {
  const { path } = route.value;
  const { page: Page, params } = pageAt(path);
  const [helping, setHelping] = useState(false);
  const [going, setGoing] = useState(false);
  useKeys(NAVIGATION, setHelping, setGoing);
  return html`
    <a class="skip" href="#main">Skip to the page</a>
    <${Header} onHelp=${() => setHelping(true)} />
    <${Offline} />
    <main id="main" tabindex="-1"><${Page} key=${path} params=${params} /></main>
    <footer class="hint">
      Times and days are those of ${session.value?.account.time_zone}.
      ${!seesAll() && ` You see links with: ${session.value?.tags.map(({ name }) => name).join(", ")}.`}
    </footer>
    <${Toasts} />
    ${
      going && html`<${PaletteDialog} navigation=${seenPages()} onClose=${() => setGoing(false)} />`
    }
    ${
      helping && html`<${DialogHelp} navigation=${NAVIGATION} onClose=${() => setHelping(false)} />`
    }
  `;
}

function Header({ onHelp }) {
  const [open, setOpen] = useState(false);
  const { path } = route.value;
  useEffect(() => setOpen(false), [path]);
  return html`<header class="top">
    <a class="brand" href=${HOME}><${Mark} /><span>Tracker</span></a>
    <${Button}
      kind="quiet"
      class="menu-button"
      icon="menu"
      label="Menu"
      aria-expanded=${open}
      onClick=${() => setOpen(!open)}
    />
    <nav aria-label="Main" class=${open ? "open" : ""}>
      ${seenPages().map(
        ({ href, label }) => html`<a
          href=${href}
          aria-current=${path.startsWith(href) ? "page" : undefined}
        >
          ${label}
          ${href === "/console/webhooks" && html`<${FailingWebhooks} />`}
        </a>`,
      )}
    </nav>
    <${Later}>${can("conversions:read") && seesAll() && html`<${LiveCount} />`}<//>
    <div class="top-end ${open ? "open" : ""}">
      <${AccountSwitcher} />
      <${Button} kind="quiet" icon="help" label="Shortcuts" onClick=${onHelp} />
      <${ThemeButton} />
      <${Button} kind="quiet" onClick=${signOut}>Sign out<//>
    </div>
  </header>`;
}

function FailingWebhooks() {
  const number = session.value.account.failing_webhooks;
  const unseen = html`<span class="visually-hidden"> failing</span>`;
  return number > 0 && html` <${Badge} kind="bad">${number}${unseen}<//>`;
}

function AccountSwitcher() {
  const { account, accounts, accounts_total: total, person } = session.value;
  const [searching, setSearching] = useState(false);
  const close = () => setSearching(false);
  const switchTo = async (id) => {
    try {
      session.value = await api.patch("/api/session", { accountId: id });
    } catch (error) {
      return toast(error.message, { kind: "bad" });
    }
    navigate(HOME);
  };
  const choose = (id) => {
    close();
    switchTo(id);
  };
  if (total > accounts.length)
    return html`
      <${Button} kind="quiet" onClick=${() => setSearching(true)}>${account.name}<//>
      ${searching && html`<${AccountDialog} onChoose=${choose} onClose=${close} />`}
    `;
  if (accounts.length < 2)
    return html`<span class="account" title=${person.email}>${account.name}</span>`;
  return html`<${Choice}
    class="account"
    label="Account"
    value=${account.id}
    options=${accounts.map(({ id, name }) => [id, name])}
    onInput=${switchTo}
  />`;
}

const THEMES = ["", "light", "dark"];
const THEME_NAMES = { "": "as the system", light: "light", dark: "dark" };
const YEAR_SECONDS = 365 * 24 * 3600;

/** The choice of a theme. It is a cookie, so that the server sends the page in it. */
function ThemeButton() {
  const root = document.documentElement;
  const [theme, setTheme] = useState(root.dataset.theme);
  const next = () => {
    const chosen = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    document.cookie = `theme=${chosen}; path=/console; max-age=${chosen ? YEAR_SECONDS : 0}; samesite=lax`;
    root.dataset.theme = chosen;
    setTheme(chosen);
  };
  return html`<${Button}
    kind="quiet"
    icon="theme"
    label="Theme: ${THEME_NAMES[theme]}"
    onClick=${next}
  />`;
}

/** What can wait until the page has been painted. */
function Later({ children }) {
  const [ready, setReady] = useState(false);
  useEffect(() => {
    const timer = setTimeout(setReady, LATER_MS, true);
    return () => clearTimeout(timer);
  }, []);
  return ready && children;
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

/** A line that says why nothing loads, while the browser has no network. */
function Offline() {
  const [online, setOnline] = useState(navigator.onLine);
  useEffect(() => {
    const notice = () => setOnline(navigator.onLine);
    addEventListener("online", notice);
    addEventListener("offline", notice);
    return () => {
      removeEventListener("online", notice);
      removeEventListener("offline", notice);
    };
  }, []);
  return (
    !online &&
    html`<p class="offline" role="status">This device is offline. What you see may be old.</p>`
  );
}

export function Outside({ children }) {
  return html`<main class="outside" id="main">
    <div class="brand"><${Mark} /><span>Tracker</span></div>
    ${children}
  </main>`;
}

/** The mark of the service, drawn with the colour of the text around it. */
export function Mark() {
  return html`<svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
    <rect width="32" height="32" rx="8" />
    <path d="M9.5 22.500 22 10m0 0h-8m8 0v8" />
  </svg>`;
}

export function Toasts() {
  return html`<div class="toasts" role="status" aria-live="polite">
    ${toasts.value.map(
      ({ id, text, kind, action }) => html`<div key=${id} class="toast ${kind}">
        <span>${text}</span>
        ${
          action &&
          html`<${Button} onClick=${() => {
            dismissToast(id);
            action.run();
          }}>
            ${action.label}
          <//>`
        }
        <${Button} kind="quiet" icon="close" label="Dismiss" onClick=${() => dismissToast(id)} />
      </div>`,
    )}
  </div>`;
}
