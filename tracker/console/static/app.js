/** The frame of every page: its routes, its navigation, its shortcuts, and signing in. */

import { render } from "preact";
import {
  Button,
  ErrorNote,
  HOME,
  Skeleton,
  TextField,
  api,
  can,
  dismissToast,
  html,
  lazy,
  loadSession,
  navigate,
  nextPage,
  queryText,
  route,
  session,
  sessionEnded,
  shortcuts,
  signOut,
  signal,
  startRouter,
  toast,
  toasts,
  useAction,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
  useTitle,
} from "console/core";

/** Every page: its path, with names of parameters after ":", and its module. */
const ROUTES = [
  ["/console/overview", "console/pages/overview"],
  ["/console/live", "console/pages/live"],
  ["/console/links", "console/pages/links"],
  ["/console/links/:id", "console/pages/link"],
  ["/console/conversions", "console/pages/conversions"],
  ["/console/conversions/refused", "console/pages/refused-postbacks"],
  ["/console/conversions/:id", "console/pages/conversion"],
  ["/console/webhooks", "console/pages/webhooks"],
  ["/console/webhooks/:id", "console/pages/webhook"],
  ["/console/events", "console/pages/event-configs"],
  ["/console/domains", "console/pages/domains"],
  ["/console/tags", "console/pages/tags"],
  ["/console/start", "console/pages/start"],
  ["/console/settings", "console/pages/settings"],
  ["/console/settings/keys", "console/pages/settings-keys"],
  ["/console/settings/account", "console/pages/settings-account"],
  ["/console/settings/members", "console/pages/settings-members"],
  ["/console/settings/shares", "console/pages/settings-shares"],
  ["/console/settings/security", "console/pages/settings-security"],
  ["/console/settings/audit", "console/pages/settings-audit"],
];

/** The pages in the navigation, with the second key of their shortcut (`g`, then this key). */
const NAVIGATION = [
  { href: "/console/overview", label: "Overview", key: "o", scope: "reports:read" },
  { href: "/console/links", label: "Links", key: "l", scope: "links:read" },
  { href: "/console/live", label: "Live", key: "i", scope: "conversions:read" },
  { href: "/console/conversions", label: "Conversions", key: "v", scope: "conversions:read" },
  { href: "/console/events", label: "Events", key: "e", scope: "event_configs:read" },
  { href: "/console/webhooks", label: "Webhooks", key: "w", scope: "webhooks:read" },
  { href: "/console/domains", label: "Domains", key: "d", scope: "domains:read" },
  { href: "/console/tags", label: "Tags", key: "t", scope: "tags:read" },
  { href: "/console/settings", label: "Settings", key: "s" },
];

/** The pages that need no session. */
const PUBLIC = {
  "/console/sign-in": SignIn,
  "/console/join": Join,
  "/console/shared": Shared,
};

if (document.documentElement.dataset.environment === "development") {
  PUBLIC["/console/style"] = lazy("console/pages/style");
}

const LATER_MS = 700;

const linkToken = signal("");
const JoinForm = lazy("console/pages/join");
const SharedReport = lazy("console/pages/shared");
const PaletteDialog = lazy("console/parts/palette", "PaletteDialog");
const LiveCount = lazy("console/parts/live-count", "LiveCount");
const DialogHelp = lazy("console/parts/help", "HelpDialog");

const PAGES = ROUTES.map(([path, module]) => ({
  pattern: new RegExp(`^${path.replace(/:(\w+)/g, "(?<$1>[^/]+)")}/?$`),
  page: lazy(module, "default", html`<${Skeleton} lines=${6} />`),
}));

PAGES.push({ pattern: /^\/console\/?$/, page: ToHome });

function pageAt(path) {
  for (const { pattern, page } of PAGES) {
    const match = pattern.exec(path);
    if (match) return { page, params: match.groups ?? {} };
  }
  return { page: NotFound, params: {} };
}

function App() {
  const { path } = route.value;
  const Public = PUBLIC[path];
  const known = session.value;
  if (Public) return html`<${Public} /><${Toasts} />`;
  if (known === undefined) return html`<${Starting} />`;
  if (known === null) return html`<${ToSignIn} />`;
  // A key per account: nothing of one account stays on screen in another.
  return html`<${Frame} key=${known.account.id} />`;
}

/** The page while it is not known who is signed in. */
function Starting() {
  const [error, setError] = useState(null);
  const start = () => {
    setError(null);
    loadSession().catch(setError);
  };
  useEffect(start, []);
  return html`<main class="outside">
    ${error ? html`<${ErrorNote} error=${error} retry=${start} />` : html`<${Skeleton} />`}
  </main>`;
}

function ToSignIn() {
  useEffect(() => {
    const next = nextPage(location.pathname + location.search);
    navigate(`/console/sign-in${queryText({ next: next === HOME ? "" : next })}`, {
      replace: true,
    });
  }, []);
  return null;
}

function ToHome() {
  useEffect(() => navigate(HOME, { replace: true }), []);
  return null;
}

// ------------------------------------------------------------------------------------ the frame

function Frame() {
  const { path } = route.value;
  const { page: Page, params } = pageAt(path);
  const [helping, setHelping] = useState(false);
  const [going, setGoing] = useState(false);
  useKeys(setHelping, setGoing);
  return html`
    <a class="skip" href="#main">Skip to the page</a>
    <${Header} onHelp=${() => setHelping(true)} />
    <${Offline} />
    <main id="main" tabindex="-1"><${Page} key=${path} params=${params} /></main>
    <${Toasts} />
    ${
      going && html`<${PaletteDialog} navigation=${seenPages()} onClose=${() => setGoing(false)} />`
    }
    ${
      helping && html`<${DialogHelp} navigation=${NAVIGATION} onClose=${() => setHelping(false)} />`
    }
  `;
}

/** Return the pages of the navigation that the reader may see. */
function seenPages() {
  return NAVIGATION.filter(({ scope }) => !scope || can(scope));
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
        </a>`,
      )}
    </nav>
    <${Later}>${can("conversions:read") && html`<${LiveCount} />`}<//>
    <div class="top-end ${open ? "open" : ""}">
      <${AccountSwitcher} />
      <${Button} kind="quiet" icon="help" label="Shortcuts" onClick=${onHelp} />
      <${ThemeButton} />
      <${Button} kind="quiet" onClick=${signOut}>Sign out<//>
    </div>
  </header>`;
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

function AccountSwitcher() {
  const { account, accounts, person } = session.value;
  const switchTo = async (id) => {
    try {
      session.value = await api.patch("/api/session", { accountId: id });
    } catch (error) {
      return toast(error.message, { kind: "bad" });
    }
    navigate(HOME);
  };
  if (accounts.length < 2)
    return html`<span class="account" title=${person.email}>${account.name}</span>`;
  return html`<select
    class="account"
    aria-label="Account"
    value=${account.id}
    onChange=${(event) => switchTo(event.target.value)}
  >
    ${accounts.map(
      (one) => html`<option value=${one.id} selected=${one.id === account.id}>
        ${one.name}
      </option>`,
    )}
  </select>`;
}

/** The mark of the service, drawn with the colour of the text around it. */
function Mark() {
  return html`<svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
    <rect width="32" height="32" rx="8" />
    <path d="M9.5 22.500 22 10m0 0h-8m8 0v8" />
  </svg>`;
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

function Toasts() {
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

function NotFound() {
  useTitle("Not found");
  return html`<div class="empty">
    <h1>There is no such page</h1>
    <p>The address is wrong, or what it named is gone.</p>
    <a class="button" href=${HOME}>To the overview<//>
  </div>`;
}

// ------------------------------------------------------------------------------------ shortcuts

const SEQUENCE_MS = 1_000;

/** Run the shortcuts of the page and of the frame. Keys typed into a field are text. */
function useKeys(setHelping, setGoing) {
  const leader = useRef(0);
  useLayoutEffect(() => {
    const press = (event) => {
      if (
        (event.ctrlKey || event.metaKey) &&
        event.key.toLowerCase() === "k" &&
        !document.querySelector("dialog[open]")
      ) {
        event.preventDefault();
        return setGoing(true);
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (
        document.querySelector("dialog[open]") ||
        (event.key.startsWith("Arrow") && scrolls(event.target))
      )
        return;
      const run = shortcutOf(event.key, leader, setHelping);
      if (!run) return;
      event.preventDefault();
      run();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}

function shortcutOf(key, leader, setHelping) {
  if (Date.now() - leader.current < SEQUENCE_MS) {
    leader.current = 0;
    const target = NAVIGATION.find((one) => one.key === key);
    if (target) return () => navigate(target.href);
  }
  if (key === "g") return () => (leader.current = Date.now());
  if (key === "?") return () => setHelping(true);
  const search = document.querySelector("[data-search]");
  if (key === "/" && search) return () => search.focus();
  return shortcuts.value[key]?.run;
}

/** Return whether arrow keys scroll an element sideways, or move in a menu. */
function scrolls(element) {
  if (element.closest("[popover]")) return true;
  for (let one = element; one && one !== document.body; one = one.parentElement) {
    if (one.scrollWidth > one.clientWidth && /auto|scroll/.test(getComputedStyle(one).overflowX))
      return true;
  }
  return false;
}

function isTyping(element) {
  return (
    element.isContentEditable ||
    element.matches("textarea, select, input:not([type=checkbox], [type=radio])")
  );
}

// ----------------------------------------------------------------------------------- signing in

function Outside({ children }) {
  return html`<main class="outside" id="main">
    <div class="brand"><${Mark} /><span>Tracker</span></div>
    ${children}
  </main>`;
}

/** The sign-in page. It asks for a code only after the password was right. */
function SignIn() {
  useTitle("Sign in");
  const [fields, setFields] = useState({ email: "", password: "", code: "" });
  const [asksCode, setAsksCode] = useState(false);
  const [signIn, busy, error] = useAction(async () => {
    const { email, password } = fields;
    session.value = await api.post("/api/sign-in", asksCode ? fields : { email, password });
    sessionEnded.value = false;
    navigate(nextPage(route.value.query.next), { replace: true });
  });
  useEffect(() => {
    if (session.peek()) navigate(nextPage(route.value.query.next), { replace: true });
  }, []);
  useEffect(() => {
    if (error?.code === "code_required") setAsksCode(true);
  }, [error]);
  const set = (name) => (value) => setFields((old) => ({ ...old, [name]: value }));
  const submit = (event) => {
    event.preventDefault();
    signIn();
  };
  const shown = error?.code === "code_required" && !fields.code ? null : error;
  return html`<${Outside}>
    <form class="card" onSubmit=${submit}>
      <h1>Sign in</h1>
      ${
        sessionEnded.value &&
        !shown &&
        html`<div class="note" role="status">
          <p>
            Your session has ended. Sign in again to go on. Drafts of links and webhooks are kept.
          </p>
        </div>`
      }
      <${TextField}
        label="E-mail"
        name="email"
        type="email"
        autocomplete="username"
        required
        autofocus
        value=${fields.email}
        onInput=${set("email")}
      />
      <${TextField}
        label="Password"
        name="password"
        type="password"
        autocomplete="current-password"
        required
        value=${fields.password}
        onInput=${set("password")}
      />
      ${
        asksCode &&
        html`<${TextField}
          label="Code"
          name="code"
          hint="From your authenticator, or a recovery code"
          autocomplete="one-time-code"
          required
          autofocus
          value=${fields.code}
          onInput=${set("code")}
        />`
      }
      <${ErrorNote} error=${shown} />
      <${Button} kind="main" type="submit" busy=${busy}>Sign in<//>
      <p class="hint">
        No account yet, or the password forgotten? Ask an owner of your account for a link.
      </p>
    </form>
  <//>`;
}

/** The page of an invitation's or password reset's link. */
function Join() {
  return html`<${Outside}><${JoinForm} key=${linkToken.value} token=${linkToken.value} /><//>`;
}

/** The page of a shared report's link. */
function Shared() {
  return html`<${SharedReport} key=${linkToken.value} token=${linkToken.value} />`;
}

/**
 * Take the token of a link that works once from the address, so that no history and no screenshot
 * has it. The link of a shared report is to be kept, and keeps its own.
 */
function takeLinkToken() {
  if (!["/console/join", "/console/shared"].includes(location.pathname) || !location.hash) return;
  linkToken.value = location.hash.slice(1);
  if (location.pathname === "/console/join") history.replaceState(null, "", location.pathname);
}

takeLinkToken();
addEventListener("hashchange", takeLinkToken);

// A page that the browser kept when it was left shows what was on screen: ask who is signed in.
addEventListener("pageshow", (event) => event.persisted && location.reload());

/** Begin to load the first page while it is still being found out who is signed in. */
function loadFirstPage() {
  const { path, query } = route.value;
  const { page } = pageAt(path === "/console/sign-in" ? nextPage(query.next) : path);
  page.load?.().catch(() => {}); // Shown where the page is.
}

startRouter();
loadFirstPage();
render(html`<${App} />`, document.getElementById("app"));
