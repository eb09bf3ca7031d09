/** Queries and addresses: what the console writes into URLs, and what it accepts from them. */

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

/** The first page. */
export const HOME = "/console/overview";

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

/** Return whether a path is one of the console. */
export function isConsolePath(path) {
  return path === "/console" || path.startsWith("/console/");
}

/** Return `url` if it is http or https, else undefined, which makes a link without a target. */
export function safeHref(url) {
  if (!URL.canParse(url, location.origin)) return undefined;
  const { protocol } = new URL(url, location.origin);
  return protocol === "https:" || protocol === "http:" ? url : undefined;
}
