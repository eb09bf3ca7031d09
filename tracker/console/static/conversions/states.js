/** The states and statuses of a conversion, worded alike wherever one is named. */

import { html } from "console/core/html";
import { Badge } from "console/core/parts";

/** The states of a conversion: how they are coloured and explained. Their words are the API's. */
export const STATES = {
  attributed: ["good", "Its click was found; it counts under the click’s link."],
  pending: ["accent", "Its click is not stored yet; it counts without one until then."],
  no_click: ["quiet", "It named no click; it counts without one."],
  foreign_click: ["warning", "Its click belongs to another account; it counts without one."],
  late: ["warning", "It came too long after its click; it counts without one."],
  too_fast: ["warning", "It came too soon after its click; it counts without one."],
  duplicate: ["warning", "Another one has its transaction id; it does not count."],
  refused: ["bad", "It breaks a rule of the account; it does not count."],
  test: ["accent", "It, or its click, was made as a test; it does not count."],
};

/** The statuses of a conversion, as its sender reports them: how they are coloured and explained. */
export const STATUSES = {
  approved: ["good", "It counts, with its value less what is refunded."],
  pending: ["accent", "It counts as pending."],
  rejected: ["bad", "It counts as rejected, without value and payout."],
  refunded: ["warning", "Its whole value is refunded; it does not count."],
};

/** The status of a conversion, with the word that nobody has mapped. */
export function ConversionStatus({ conversion: { status, unknown_word: word } }) {
  const [kind, meaning] = STATUSES[status] ?? ["quiet", ""];
  return html`<span title=${meaning}>
    <${Badge} kind=${kind}>${status}<//> ${word && html`<span class="hint">“${word}”</span>`}
  </span>`;
}

/** Return a state in words: "no_click" of the API is "no click". */
export function stateWord(status) {
  return status.replaceAll("_", " ");
}

const RULES = {
  require_pbk: "without a postback key",
  no_negative_values: "a value below zero",
  max_value: "a value above the highest",
  max_per_click: "too many for its click",
};

/** The state of a conversion, with the rule that it breaks. */
export function ConversionState({ conversion }) {
  const [kind, meaning] = STATES[conversion.attribution] ?? ["quiet", ""];
  return html`<span title=${meaning}>
    <${Badge} kind=${kind}>${stateWord(conversion.attribution)}<//>
    ${" "}
    ${
      conversion.refused &&
      html`<span class="hint">
        ${RULES[conversion.refused] ?? conversion.refused}
      </span>`
    }
  </span>`;
}
