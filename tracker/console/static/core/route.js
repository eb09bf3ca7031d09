/** The router: the address of the page on screen. */

import { signal } from "@preact/signals";
import { isConsolePath, queryText } from "console/core/url";

/** The address of the page: its path and its query. Filters live in the query. */
export const route = signal(currentRoute());

function currentRoute() {
  return {
    path: location.pathname,
    query: Object.fromEntries(new URLSearchParams(location.search)),
  };
}

let hasMoved = false;
let previousAddress = "";

/**
 * Go to an address of the console. `replace` leaves no entry in the history; with `stay` the page
 * is not scrolled to its top.
 */
export function navigate(href, { replace = false, stay = replace } = {}) {
  if (!replace) {
    hasMoved = true;
    previousAddress = location.pathname + location.search;
  }
  history[replace ? "replaceState" : "pushState"](null, "", href);
  route.value = currentRoute();
  if (!stay) scrollTo(0, 0);
}

/** Return {hasMoved, previousAddress}: whether this is not the first page, and the one before. */
export const cameFrom = () => ({ hasMoved, previousAddress });

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
