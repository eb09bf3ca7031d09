/** The table of links that are about to be created. */

import { format } from "console/core/format";
import { html } from "console/core/html";
import { TEXTS } from "console/links/fields";

/**
 * The table, of the first `most` rows. `host` serves links without a domain of their own;
 * `failedLine` is one that was refused.
 */
export function LinkPreview({ rows, most, host, bad, failedLine, newTags, ignored }) {
  const withTags = rows.some(({ tags }) => tags.length);
  const texts = TEXTS.filter(
    ({ name, whenEmpty }) => whenEmpty || rows.some(({ link }) => link[name]),
  );
  return html`<div class="link-preview">
    <p class=${bad ? "error" : "hint"} role="status">
      ${
        bad
          ? `${format.count(bad, "line")} to correct`
          : `${format.count(rows.length, "link")} to create`
      }
      ${newTags.length > 0 && `, with new tags: ${newTags.join(", ")}`}
      ${ignored.length > 0 && `. Not used: ${ignored.join(", ")}`}
    </p>
    <div class="table-box" tabindex="0" role="region" aria-label="Preview">
      <table>
        <caption class="visually-hidden">Links to create</caption>
        <thead>
          <tr>
            <th scope="col" class="numeric">Line</th>
            <th scope="col">Destination</th>
            <th scope="col">Short link</th>
            ${texts.map(({ label }) => html`<th scope="col">${label}</th>`)}
            ${withTags && html`<th scope="col">Tags</th>`}
          </tr>
        </thead>
        <tbody>
          ${shown(rows, most).map(
            (row) => html`<${Row}
              key=${row.line}
              ...${{ row, host, texts, withTags }}
              failed=${row.line === failedLine}
            />`,
          )}
        </tbody>
      </table>
    </div>
  </div>`;
}

/** Return so many rows, in order: those to correct before others. */
function shown(rows, most) {
  if (rows.length <= most) return rows;
  const bad = rows.filter(({ problem }) => problem);
  const chosen = new Set([...bad, ...rows.filter(({ problem }) => !problem)].slice(0, most));
  return rows.filter((row) => chosen.has(row));
}

function Row({ row: { line, link, domain, tags, problem }, host, texts, withTags, failed }) {
  return html`<tr class=${problem || failed ? "bad" : ""}>
    <td class="numeric" data-label="Line">${line}</td>
    <td class="wide">${link.destination_url}${problem && html`<p class="error">${problem}</p>`}</td>
    <td data-label="Short link">
      <span>
        ${domain || host}/c/${link.slug ?? html`<em>random</em>`}
        ${link.active === false && " (paused)"}
      </span>
    </td>
    ${texts.map(
      ({ name, label, whenEmpty }) => html`<td data-label=${label}>
        ${link[name] ?? (whenEmpty && html`<em>${whenEmpty}</em>`)}
      </td>`,
    )}
    ${withTags && html`<td data-label="Tags">${tags.join(", ")}</td>`}
  </tr>`;
}
