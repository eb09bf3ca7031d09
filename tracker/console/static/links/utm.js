/**
 * UTM values of links: how they are written into a destination, and shown and filtered by in the
 * list.
 */

import { html } from "console/core/html";
import { Tag } from "console/core/parts";
import { route, setQuery } from "console/core/route";
import { joinValues, queryText, splitValues } from "console/core/url";

/** Name, label and an example of each parameter. */
export const UTM = [
  ["utm_source", "Source", "newsletter"],
  ["utm_medium", "Medium", "email"],
  ["utm_campaign", "Campaign", "spring-sale"],
  ["utm_term", "Term", "running shoes"],
  ["utm_content", "Content", "top banner"],
];

/**
 * Return `url` with one parameter of its query set, or removed if `value` is empty. All else stays
 * as it was typed: the URL class would encode the braces of macros.
 */
export function withParameter(url, name, value) {
  const [, start, query = "", fragment] = /^([^?#]*)(?:\?([^#]*))?(#.*)?$/s.exec(url);
  const others = query.split("&").filter((part) => part && part.split("=")[0] !== name);
  const encoded = encodeURIComponent(value).replace(/%7B([\w.]+)%7D/g, "{$1}");
  const parts = value ? [...others, `${name}=${encoded}`] : others;
  return start + (parts.length ? `?${parts.join("&")}` : "") + (fragment ?? "");
}

/** Return `url` with the UTM `values` that it does not have. */
export function withUtm(url, values) {
  const has = (name) =>
    /^[^?#]*\?([^#]*)/
      .exec(url)?.[1]
      .split("&")
      .some((part) => part.startsWith(`${name}=`));
  return UTM.reduce(
    (made, [name]) => (values[name] && !has(name) ? withParameter(made, name, values[name]) : made),
    url,
  );
}

/** Return the filters of the list that the query of a page has, as parameters of the API. */
export function utmFilters(query) {
  return Object.fromEntries(UTM.map(([name]) => [name, splitValues(query[name])]));
}

/** Return the query that removes all of these filters. */
export function noUtmFilters() {
  return Object.fromEntries(UTM.map(([name]) => [name, null]));
}

/** The filters that are set, each with the way to remove it. */
export function UtmChips({ query }) {
  return UTM.map(([name, label]) => {
    const values = splitValues(query[name]);
    return (
      values.length > 0 &&
      html`<${Tag} key=${name} onRemove=${() => setQuery({ [name]: null, page: null })}>
        ${`UTM ${label.toLowerCase()} is ${values.join(" or ")}`}
      <//>`
    );
  });
}

/** Return whether a link has any of the values. */
export function hasUtm(link) {
  return UTM.some(([name]) => link[name] !== null);
}

/** The values of a link. Each leads to the links that have it too. */
export function UtmValues({ link }) {
  const href = (name) =>
    `/console/links${queryText({ ...route.value.query, [name]: joinValues([link[name]]), page: null })}`;
  const set = UTM.filter(([name]) => link[name] !== null);
  return html`<ul class="utm-values" role="list">
    ${set.map(
      ([name, label]) => html`<li key=${name} title=${link[name]}>
        <span>${label}</span> <a href=${href(name)}>${link[name]}</a>
      </li>`,
    )}
  </ul>`;
}
