/** Links in a text that was pasted or read from a file: one a line, or CSV. Pure. */

import { delimitedRows, withoutApostrophes } from "console/links/delimited";
import { SLUG, SLUG_RULE, TEXTS, given, textsOf } from "console/links/fields";
import { completedUrl, hostnameOf } from "console/links/typed-url";
import { UTM, withUtm } from "console/links/utm";

export const SEPARATORS = [
  ["\t", "tab"],
  [";", "semicolon"],
  [",", "comma"],
  [" ", "space"],
];
const POSITIONS = ["destination_url", "slug", "internal_name"];
const COLUMNS = [
  "destination_url",
  "slug",
  ...TEXTS.map(({ name }) => name),
  "domain_name",
  "active",
  "tags",
  "archived",
  ...UTM.map(([name]) => name),
];
const MAX_URL = 2048;
const MAX_TAG = 190;
const IS_BOOLEAN = /^(true|false)$/i;

/**
 * Return {separator, header, rows} of a text. A first row with a cell `destination_url` is a
 * header; without one the cells are destination, slug and name. `separator` is found if it is not
 * given.
 *
 * A row is {line, link, domain, tags, problem}: `link` has fields of the API, `domain` the name of
 * a custom domain and `tags` names, and `problem` says why the row cannot be created.
 */
export function readLinks(text, separator) {
  const plain = text.replace(/^\ufeff/, "");
  const chosen = separator || separatorOf(plain);
  const [first, ...others] = [
    ...(chosen === " " ? spacedRows(plain) : delimitedRows(plain, chosen)),
  ];
  const names = first?.cells.map((cell) => cell.toLowerCase());
  const header = names?.includes("destination_url") ? names : null;
  const read = header ? (row) => named(row, header) : positioned;
  return {
    separator: chosen,
    header,
    rows: withoutRepeats((header ? others : first ? [first, ...others] : []).map(read)),
  };
}

/** Return the columns of a header that say nothing of a new link. */
export function ignoredColumns(header) {
  return header.filter((name) => !COLUMNS.includes(name));
}

/**
 * Return the separator: that of the header, else of half of the lines or more. It stands in or
 * right after the first word: a comma in a name separates nothing.
 */
function separatorOf(text) {
  const lines = text.split(/\r\n|\n|\r/).filter((line) => line.trim());
  const rank = (counted) =>
    ["\t", ";", ","]
      .map((one) => [counted.filter((part) => part.includes(one)).length, one])
      .sort(([a], [b]) => b - a)[0];
  if (/\bdestination_url\b/i.test(lines[0])) return rank([...lines[0]])[1];
  if (lines.some((line) => line.trim().includes("\t"))) return "\t";
  const words = lines.map((line) => /^\s*("[^"]*"\s*\S?|\S+)/.exec(line)[1]);
  const [count, best] = rank(words);
  return words.length && count * 2 >= words.length ? best : " ";
}

/** Yield the rows of lines such as `https://shop.example/offer spring Spring offer`. */
function* spacedRows(text) {
  for (const [index, line] of text.split(/\r\n|\n|\r/).entries()) {
    const match = /^(\S+)(?:\s+(\S+))?(?:\s+(.+))?$/.exec(line.trim());
    if (match)
      yield { line: index + 1, cells: match.slice(1).filter((cell) => cell !== undefined) };
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

function named({ line, cells }, header) {
  const value = (name) => withoutApostrophes(cells[header.indexOf(name)] ?? "");
  const more = cells.slice(header.length).some(Boolean);
  return row(
    line,
    Object.fromEntries(COLUMNS.map((name) => [name, value(name)])),
    more && "more cells than the header: put what holds a separator in quotes",
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
    ...(active && { active: active.toLowerCase() === "true" }),
  };
  return {
    line,
    link,
    domain: hostnameOf(domain_name).toLowerCase(),
    tags: names,
    problem: problem || problemOf(link, names, active, archived),
  };
}

/** Return the names of tags: of the JSON that a download has, or of a list with commas. */
function tagNames(cell) {
  try {
    return JSON.parse(cell).map((tag) => tag.name ?? String(tag));
  } catch {
    return cell
      .split(",")
      .map((name) => name.trim())
      .filter(Boolean);
  }
}

function problemOf({ destination_url: url, slug, ...link }, tags, active, archived) {
  if (!/^https?:\/\/[^\s/?#]/i.test(url))
    return url ? "the destination is no web address" : "no destination";
  if (/\s/.test(url)) return "the destination has a space in it";
  if (url.length > MAX_URL) return `the destination has more than ${MAX_URL} characters`;
  if (slug && !SLUG.test(slug)) return `the slug: ${SLUG_RULE}`;
  const long = TEXTS.find(({ name, most }) => link[name]?.length > most);
  if (long) return `the ${long.label.toLowerCase()} has more than ${long.most} characters`;
  if (tags.some((tag) => tag.length > MAX_TAG)) return `a tag has more than ${MAX_TAG} characters`;
  if (active && !IS_BOOLEAN.test(active)) return "active is neither true nor false";
  if (archived && !IS_BOOLEAN.test(archived)) return "archived is neither true nor false";
  if (/^true$/i.test(archived)) return "is archived: remove this line";
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
