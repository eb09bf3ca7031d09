/** What people type where a URL or a hostname belongs. Pure. */

import { stripped } from "console/links/invisible";

const HOST = /^[^\s/?#:@.]+(\.[^\s/?#:@.]+)+(:\d*)?([/?#]|$)/;

/** Return a destination with https:// if it begins with a host, else as it was typed. */
export function completedUrl(typed) {
  const url = stripped(typed);
  const text = url.replace(/^\/\//, "");
  return HOST.test(text) ? `https://${text}` : url;
}

/** Return the hostname of what may be a URL: without scheme, user, port, path and final dot. */
export function hostnameOf(typed) {
  return stripped(typed)
    .replace(/^([a-z][a-z\d+.-]*:)?\/\//i, "")
    .replace(/[/?#].*$/s, "")
    .replace(/^.*@/, "")
    .replace(/:\d*$/, "")
    .replace(/\.$/, "");
}

/** Return a hostname as the service keeps it: in ASCII, lower case. */
export function asciiHostname(name) {
  const url = `https://${name}`;
  return URL.canParse(url) ? new URL(url).hostname : name.toLowerCase();
}
