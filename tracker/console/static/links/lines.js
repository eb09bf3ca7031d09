/** Links in a text that was pasted or read from a file: one a line, or CSV. Pure. */

import { delimitedRows, withoutApostrophes } from "console/links/delimited";
import { SLUG, SLUG_RULE, TEXTS, given, textsOf } from "console/links/fields";
import { invisibleIn, stripped } from "console/links/invisible";
import { OPTIONS, optionsIn } from "console/links/options";
import { separated } from "console/links/separators";
import { asciiHostname, completedUrl, hostnameOf } from "console/links/typed-url";
import { UTM, withUtm } from "console/links/utm";

const POSITIONS = ["destination_url", "slug", TEXTS[0].name];
const COLUMNS = [
  "destination_url",
  "slug",
  ...TEXTS.map(({ name }) => name),
  "domain_name",
  "active",
  "tags",
  "archived",
  ...UTM.map(([name]) => name),
  ...OPTIONS.map(({ name }) => name),
];
/** Other headings of columns, without case, spaces and signs. The first one in a header is it. */
const HEADINGS = {
  destination_url: ["destination", "longurl", "targeturl", "url", "link"],
  slug: ["shortlink", "shorturl"],
  ...Object.fromEntries(TEXTS.map(({ name, headings = [] }) => [name, headings])),
  domain_name: ["domain"],
  tags: ["tag"],
  ...Object.fromEntries(UTM.map(([name, label]) => [name, [label.toLowerCase()]])),
};
const TRUE = ["true", "yes", "1", "wahr", "ja", "vrai", "oui", "verdadero", "vero"];
const FALSE = ["false", "no", "0", "falsch", "nein", "faux", "non", "falso"];
/** The host and the slug of a short link; a host only where it is one of this service. */
const SHORT_URL = /^(?:https?:\/\/)?(?:([^/]+)\/c\/|[^/]+\/)([^/?#]+)\/?$/;
const MAX_URL = 2048;
const MAX_TAG = 190;

/**
 * Return {separator, unsure, ignored, columns, rows} of a text. A first row of headings says what
 * the cells are, and `ignored` are the headings that say nothing of a new link; without one they are
 * destination, slug and name. `separator` is found if none is `chosen`; `unsure` is another that the
 * text may have. `columns` are {heading, name}; `mapped` are other names by the number of a column.
 *
 * A row is {line, link, domain, tags, problem}: `link` has fields of the API, `domain` the name of
 * a custom domain and `tags` names, and `problem` says why the row cannot be created.
 */
export function readLinks(typed, chosen, mapped = {}) {
  const { text, separator, unsure } = separated(typed, hasDestination, chosen);
  const cut = [...(separator === " " ? spacedRows(text) : delimitedRows(text, separator))];
  const first = cut[0]?.cells ?? [];
  const isHeader = isOfHeadings(first, cut[1]?.cells ?? []);
  const guessed = isHeader ? columnsOf(first) : first.map((_, index) => POSITIONS[index] ?? null);
  const names = withMapped(guessed, mapped);
  const columns = names.map((name, index) => ({
    heading: isHeader ? first[index] : `Column ${index + 1}`,
    name,
  }));
  const isPlain = !isHeader && Object.keys(mapped).length === 0;
  const problem = isPlain || names.includes("destination_url") ? "" : noDestination(first);
  const rows = cut
    .slice(isHeader ? 1 : 0)
    .map((one) => (isPlain ? positioned(one) : named(one, names, problem)));
  if (isPlain && first.length > 1 && !isAddress(rows[0].link.destination_url))
    rows[0].problem = noDestination(first);
  const ignored = isHeader ? first.filter((_, index) => !names[index]) : [];
  return { separator, unsure, ignored, columns, rows: withoutRepeats(rows) };
}

/** Return a text without the lines of the first `count` rows, which are created. */
export function withoutRows(text, rows, count) {
  const lines = text.split(/\r\n|\n|\r/);
  lines.splice(rows[0].line - 1, (rows[count]?.line ?? lines.length + 1) - rows[0].line);
  return lines.join("\n");
}

/** Return whether a first row has headings: known ones, or no address above one. */
function isOfHeadings(first, second) {
  const isUrl = (cell) => isAddress(completedUrl(cell));
  if (hasDestination(first) || (first.length > 1 && columnsOf(first).every(Boolean))) return true;
  return first.length > 1 && !first.some(isUrl) && second.some(isUrl);
}

/** Return the names of columns with chosen ones, which are then no other column's. */
function withMapped(names, mapped) {
  const taken = Object.values(mapped);
  return names.map((name, index) =>
    index in mapped ? mapped[index] || null : taken.includes(name) ? null : name,
  );
}

/** Return the column of each heading; null for an unknown one. */
function columnsOf(headings) {
  const plain = headings.map((one) => one.toLowerCase().replace(/[^\p{L}\p{N}]/gu, ""));
  const columns = plain.map(
    (one) => COLUMNS.find((name) => name.replaceAll("_", "") === one) ?? null,
  );
  for (const [name, others] of Object.entries(HEADINGS)) {
    const other = !columns.includes(name) && others.find((one) => plain.includes(one));
    if (other) columns[plain.indexOf(other)] = name;
  }
  return columns;
}

function hasDestination(headings) {
  return columnsOf(headings).includes("destination_url");
}

function noDestination(headings) {
  return `no column is the destination, such as URL: found ${headings.join(", ")}`;
}

/** Yield the rows of lines such as `https://shop.example/offer spring Spring offer`. */
function* spacedRows(text) {
  for (const [index, line] of text.split(/\r\n|\n|\r/).entries()) {
    const match = /^(\S+)(?:\s+(\S+))?(?:\s+(.+))?$/.exec(stripped(line));
    if (match) yield { line: index + 1, cells: match.slice(1).filter(Boolean).map(stripped) };
  }
}

function positioned({ line, cells }) {
  const values = Object.fromEntries(POSITIONS.map((name, index) => [name, cells[index] ?? ""]));
  if (values.slug === "-") values.slug = "";
  const more = cells.slice(POSITIONS.length).some(Boolean);
  return row(
    line,
    values,
    more && "more than destination, slug and name: put what holds a separator in quotes",
  );
}

function named({ line, cells }, columns, problem) {
  const value = (name) => withoutApostrophes(cells[columns.indexOf(name)] ?? "");
  const more = cells.slice(columns.length).some(Boolean);
  const values = Object.fromEntries(COLUMNS.map((name) => [name, value(name)]));
  if (values.slug === "-") values.slug = "";
  const [, host, slug] = SHORT_URL.exec(values.slug) ?? [];
  if (slug) Object.assign(values, { slug, domain_name: values.domain_name || host || "" });
  return row(
    line,
    values,
    problem || (more && "more cells than the header: put what holds a separator in quotes"),
  );
}

function row(
  line,
  {
    destination_url: typed,
    slug,
    domain_name = "",
    active = "",
    tags = "",
    archived = "",
    ...others
  },
  problem,
) {
  const destination_url = typed && withUtm(completedUrl(typed), others);
  const names = tagNames(tags);
  const link = {
    destination_url,
    ...given({ slug, ...textsOf(others) }),
    ...optionsIn(others, truth),
    ...(active && { active: truth(active) }),
  };
  return {
    line,
    link,
    domain: asciiHostname(hostnameOf(domain_name)),
    tags: names,
    problem: problem || problemOf(link, names, active, archived),
  };
}

/** Return yes or no of a cell, as spreadsheets and people write it; undefined if it is neither. */
function truth(cell) {
  const text = cell.toLowerCase();
  return TRUE.includes(text) || (FALSE.includes(text) ? false : undefined);
}

function isAddress(url) {
  return /^https?:\/\/[^\s/?#]/i.test(url);
}

/** Return the length of a text as the service counts it. */
function length(text) {
  return [...text].length;
}

/** Return the names of tags: of the JSON that a download has, or of a list with commas. */
function tagNames(cell) {
  try {
    return JSON.parse(cell).map((tag) => tag.name ?? String(tag));
  } catch {
    return cell.split(",").map(stripped).filter(Boolean);
  }
}

function problemOf({ destination_url: url, slug, ...link }, tags, active, archived) {
  if (!isAddress(url)) return url ? "the destination is no web address" : "no destination";
  if (/\s/.test(url)) return "the destination has a space in it";
  const invisible = invisibleIn(url);
  if (invisible) return `the destination has an invisible character (${invisible})`;
  if (length(url) > MAX_URL) return `the destination has more than ${MAX_URL} characters`;
  if (slug && !SLUG.test(slug)) return `the slug: ${SLUG_RULE}`;
  const long = TEXTS.find(({ name, most }) => length(link[name] ?? "") > most);
  if (long) return `${long.label.toLowerCase()}: more than ${long.most} characters`;
  if (tags.some((tag) => length(tag) > MAX_TAG)) return `a tag has more than ${MAX_TAG} characters`;
  if (active && truth(active) === undefined) return "active is neither true nor false";
  if (archived && truth(archived) === undefined) return "archived is neither true nor false";
  if (truth(archived)) return "is archived: remove this line";
  return "";
}

function withoutRepeats(rows) {
  const lines = new Map();
  return rows.map((one) => {
    const {
      link: { slug },
      line,
      domain,
    } = one;
    if (!slug) return one;
    const key = `${domain} ${slug}`;
    const earlier = lines.get(key);
    if (!earlier) lines.set(key, line);
    return {
      ...one,
      problem: one.problem || (earlier ? `the slug is that of line ${earlier}` : ""),
    };
  });
}
