/** The rules of a link, or of an earlier version of them, to read. */

import { html } from "console/core/html";
import { targetText } from "console/rules/words";

/** The rules in their order, then where all others are led. */
export function RulesSummary({ link }) {
  return html`<ol class="stack close">
    ${[...link.rules, { ...link, name: "All others" }].map(
      (one) => html`<li><strong>${one.name}</strong>: ${targetText(one)}</li>`,
    )}
  </ol>`;
}
