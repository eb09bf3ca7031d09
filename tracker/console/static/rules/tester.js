/** The tester: what a visitor may bring, and which rule decides, as the service says it. */

import { api } from "console/core/api";
import { momentOf } from "console/core/dates";
import { FormFields, namesOf, useFields } from "console/core/fields";
import { useLoad, useSettled } from "console/core/hooks";
import { html } from "console/core/html";
import { Badge, ErrorNote, OutLink } from "console/core/parts";
import { session } from "console/core/session";
import { given } from "console/links/fields";
import { sentRules } from "console/rules/words";

const AGENTS = [
  ["", "Not known"],
  [navigator.userAgent, "This browser"],
  ["Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) Version/18.5 Safari/604.1", "iPhone"],
  ["Mozilla/5.0 (Linux; Android 10; K) Chrome/137.0.0.0 Mobile Safari/537.36", "Android phone"],
  ["Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/137.0.0.0 Safari/537.36", "Windows"],
  ["Mozilla/5.0 (compatible; Googlebot/2.1)", "A bot"],
];
const VISITOR = [
  { name: "country", label: "Country", maxlength: 2, placeholder: "DE" },
  { name: "language", label: "Languages", placeholder: "de-AT,de;q=0.9" },
  { name: "user_agent", label: "Device", options: AGENTS },
  { name: "query", label: "Query", placeholder: "src=mail" },
  { name: "referrer", label: "Referrer", placeholder: "https://news.example/" },
  { name: "address", label: "Address", placeholder: "192.0.2.1", hint: "Variants are drawn by it" },
  { name: "time", label: "Time", type: "datetime-local" },
];

/** The tester of `rules`, the fields of a link's editor. It asks once typing has paused. */
export function Tester({ link, rules }) {
  const { fields, set } = useFields(Object.fromEntries(namesOf(VISITOR).map((one) => [one, ""])));
  const time = fields.time && momentOf(fields.time, session.value.account.time_zone);
  const visitor = given({ ...fields, time });
  const body = useSettled(JSON.stringify({ ...sentRules(rules, link), ...visitor }));
  const { data, error } = useLoad(
    (signal) => api.post(`/api/short-links/${link.id}/decide`, JSON.parse(body), { signal }),
    [body],
  );
  return html`<section class="card" aria-label="Try it">
    <h2>Try it</h2>
    <div role="status">${data && !error && html`<${Decision} ...${{ data, rules }} />`}</div>
    <${ErrorNote} error=${error} fields=${namesOf(VISITOR)} />
    <p class="hint">What is left empty is not known: neither “is” nor “is not” holds by it.</p>
    <${FormFields} list=${VISITOR} ...${{ fields, set, error }} />
  </section>`;
}

function Decision({ data, rules }) {
  const decided = data.rules.findIndex(({ holds }) => holds);
  const { split } = (decided < 0 ? rules : rules.rules[decided]) ?? {};
  // A variant that is not saved has no id yet.
  const isDrawn = ({ id, destination_url: url }) =>
    id ? id === data.variant_id : url === data.destination_url;
  const variant = data.variant_id && split?.variants.find(isDrawn);
  return html`
    <p>
      <strong>${decided < 0 ? "No rule holds" : `Rule ${decided + 1} decides`}</strong>
      ${variant && `, and draws ${variant.name}`}:${" "}
      ${data.location ? html`<${OutLink} url=${data.location} />` : "404, as it leads here again"}
    </p>
    <ol>
      ${data.rules.map(
        ({ name, holds, failed }, at) => html`<li key=${at}>
          <strong>${name}</strong>${" "}
          ${holds && html`<${Badge} kind="good">${at === decided ? "decides" : "holds too"}<//>`}
          ${failed && `fails at condition ${failed.condition + 1}: ${failed.why}`}
        </li>`,
      )}
    </ol>
  `;
}
