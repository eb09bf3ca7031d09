/** The entry: which page is shown at which address, with a session and without one. */

import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { signal } from "@preact/signals";
import { loadSession } from "console/core/api";
import { useTitle } from "console/core/hooks";
import { html } from "console/core/html";
import { ErrorNote, Skeleton, lazy } from "console/core/parts";
import { navigate, route, startRouter } from "console/core/route";
import { session } from "console/core/session";
import { HOME, nextPage, queryText } from "console/core/url";
import { Frame, Outside, Toasts } from "console/parts/frame";

/** Every page: its path, with names of parameters after ":", and its module. */
const ROUTES = [
  ["/console/overview", "console/pages/overview"],
  ["/console/table", "console/pages/table"],
  ["/console/live", "console/pages/live"],
  ["/console/links", "console/pages/links"],
  ["/console/links/:id", "console/pages/link"],
  ["/console/links/:id/rules", "console/pages/link-rules"],
  ["/console/imports", "console/pages/imports"],
  ["/console/imports/:id", "console/pages/import"],
  ["/console/conversions", "console/pages/conversions"],
  ["/console/conversions/refused", "console/pages/refused-postbacks"],
  ["/console/conversions/uploads", "console/pages/uploads"],
  ["/console/conversions/uploads/:id", "console/pages/upload"],
  ["/console/conversions/:id", "console/pages/conversion"],
  ["/console/clicks/:id", "console/pages/click"],
  ["/console/webhooks", "console/pages/webhooks"],
  ["/console/webhooks/:id", "console/pages/webhook"],
  ["/console/events", "console/pages/event-configs"],
  ["/console/domains", "console/pages/domains"],
  ["/console/domains/:id/unknown-paths", "console/pages/unknown-paths"],
  ["/console/tags", "console/pages/tags"],
  ["/console/costs", "console/pages/costs"],
  ["/console/start", "console/pages/start"],
  ["/console/settings", "console/pages/settings"],
  ["/console/settings/keys", "console/pages/settings-keys"],
  ["/console/settings/account", "console/pages/settings-account"],
  ["/console/settings/members", "console/pages/settings-members"],
  ["/console/settings/shares", "console/pages/settings-shares"],
  ["/console/settings/security", "console/pages/settings-security"],
  ["/console/settings/audit", "console/pages/settings-audit"],
];

/** The pages that need no session. */
const PUBLIC = {
  "/console/sign-in": lazy("console/pages/sign-in"),
  "/console/join": Join,
  "/console/shared": Shared,
};

if (document.documentElement.dataset.environment === "development") {
  PUBLIC["/console/style"] = lazy("console/pages/style");
}

const linkToken = signal("");
const JoinForm = lazy("console/pages/join");
const SharedReport = lazy("console/pages/shared");

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
  return html`<${Frame} key=${known.account.id} pageAt=${pageAt} />`;
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

function NotFound() {
  useTitle("Not found");
  return html`<div class="empty">
    <h1>There is no such page</h1>
    <p>The address is wrong, or what it named is gone.</p>
    <a class="button" href=${HOME}>To the overview<//>
  </div>`;
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
