/** A click, as its own page and the page of its conversion show it. */

import { html } from "console/core/html";
import { OutLink, Time } from "console/core/parts";

/** The click of a conversion, or what is missing. */
export function Click({ conversion }) {
  const { click, click_id: id, link } = conversion;
  if (!click) {
    return html`<section class="card">
      <h2>The click</h2>
      <p class="about">
        ${id ? html`The click <code>${id}</code> is not stored, or not yours.` : "It names no click."}
      </p>
    </section>`;
  }
  return html`<section class="card">
    <h2>The click</h2>
    <dl class="facts">
      <dt>Link</dt>
      <dd>
        ${
          link
            ? html`<a href="/console/links/${link.id}">
              ${link.internal_name}
            </a>`
            : html`<span class="faint">–</span>`
        }
      </dd>
      <dt>Opened</dt>
      <dd><${Time} at=${click.at} exact /></dd>
      <dt>Visitor</dt>
      <dd>${[click.country, click.device, click.browser, click.os].join(" · ")}</dd>
      ${click.bot && html`<dt>Bot</dt><dd>${click.bot.replace(/_/g, " ")}</dd>`}
      ${click.consent && html`<dt>Consent</dt><dd>${click.consent}</dd>`}
      <dt>Referrer</dt>
      <dd>
        ${
          click.referrer
            ? html`<${OutLink} url=${click.referrer} />`
            : html`<span class="faint">none</span>`
        }
      </dd>
      <dt>Query</dt>
      <dd>
        ${click.query ? html`<code>${click.query}</code>` : html`<span class="faint">none</span>`}
      </dd>
      ${Object.entries(conversion.parameters).map(
        ([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`,
      )}
      <dt>Id</dt>
      <dd><a href="/console/clicks/${click.id}"><code>${click.id}</code></a></dd>
    </dl>
  </section>`;
}
