/** Creating many links: in parts, each of which is created whole or not at all. */

import { api, owned } from "console/core/api";
import { loadAll } from "console/parts/all";
import { patiently } from "console/links/changes";
import { TEXTS } from "console/links/fields";
import { OPTIONS } from "console/links/options";
import { folded, missingTags, tagIds } from "console/links/tag-names";

const PART = 100;

/**
 * Create the links of `rows`, and return their short URLs. `onPart` gets the number of created rows
 * after each part. An error names the line, and which lines are created. Its `since`, if any, is to
 * be sent with what is left: the first links of that may have been created after it.
 */
export async function createAll({ rows, newTags, known, since, ...chosen }, onPart) {
  const { ids, created } = await withTags(known, newTags, rows);
  let newest = since || (await newestLinks(1))[0]?.id || "0";
  const urls = [];
  for (let at = 0; at < rows.length; at += PART) {
    const part = rows.slice(at, at + PART);
    const links = part.map((row) => body(row, { ids, ...chosen }));
    let made = null;
    try {
      if (at === 0 && since) made = await madeSince(since, links);
      made ??= (await patiently(() => api.post("/api/short-links/bulk", owned({ links })))).rows;
    } catch (failed) {
      made = failed.mayPass && (await madeSince(newest, links).catch(() => null));
      if (!made) {
        // Without an answer, links may exist that have the tags.
        if (at === 0 && failed.status >= 400 && failed.status < 500) await removed(created);
        const isUnsure = failed.mayPass || (at === 0 && since);
        throw Object.assign(told(failed, rows, at), { since: isUnsure ? newest : "" });
      }
    }
    newest = made.reduce((last, { id }) => (id > last ? id : last), newest);
    urls.push(...made.map((row) => row.short_url));
    onPart(at + part.length);
  }
  return urls;
}

async function newestLinks(pageSize) {
  return (await api.get("/api/short-links", { pageSize })).rows;
}

/** Return the links of a part that got no answer, if it was created: ids are in order of time. */
async function madeSince(newest, links) {
  const urls = new Set(links.map((link) => link.destination_url));
  const rows = (await newestLinks(PART)).filter(({ id }) => id > newest);
  const made = rows.filter((row) => urls.has(row.destination_url));
  return made.length >= links.length ? made : null;
}

/**
 * Create tags, and return the ids of all by their folded names, and those of the `created` ones.
 * None is left if one is refused.
 */
async function withTags(known, newTags, rows) {
  // Looked up again: an attempt without an answer may have created some of them.
  const all = newTags.length ? (await loadAll("/api/tags")).rows : known;
  const created = [];
  for (const name of missingTags([{ tags: newTags }], all)) {
    try {
      created.push(await api.post("/api/tags", owned({ name })));
    } catch (failed) {
      await removed(created);
      const { line } = rows.find((row) => row.tags.includes(name));
      throw Object.assign(failed, { message: `Line ${line}, tag ${name}: ${failed.rule}` });
    }
  }
  return { ids: tagIds([...all, ...created]), created };
}

/** Delete the tags that were created for links, as far as that is possible. */
function removed(created) {
  return Promise.allSettled(created.map(({ id }) => api.delete(`/api/tags/${id}`)));
}

function body({ link, domain, tags }, { hosts, ids, domain_id: chosen, tags: common }) {
  const domain_id = domain ? hosts.get(domain) : chosen;
  const all = [...new Set([...tags.map((name) => ids.get(folded(name))), ...common])];
  return { ...link, tags: all, ...(domain_id && { domain_id }) };
}

const FIELDS = {
  destination_url: "destination",
  domain_id: "domain",
  ...Object.fromEntries(
    [...TEXTS, ...OPTIONS].map(({ name, label }) => [name, label.toLowerCase()]),
  ),
};

/**
 * Return an error that says which of the rows are created, and names the line and the field as
 * people see them. `line` is where it then is, without the created ones.
 */
function told(error, rows, at) {
  const part = rows.slice(at, at + PART);
  const [, index, field, rule] = /^links\[(\d+)\](?:\.(\w+)[^:]*)?: (.*)$/s.exec(error.text) ?? [];
  const line = index && part[index].line;
  const shift = rows[at].line - rows[0].line;
  const message = index
    ? `Line ${line - shift}${field ? `, ${FIELDS[field] ?? field}` : ""}: ${rule}`
    : error.message;
  const done = at
    ? `Lines ${rows[0].line} to ${rows[at - 1].line} are created, and no longer in the box. The others are not. `
    : "";
  const unsure = error.mayPass
    ? " The next ones may exist: they are looked for before they are created again."
    : "";
  return Object.assign(error, { line: line - shift, message: done + message + unsure });
}
