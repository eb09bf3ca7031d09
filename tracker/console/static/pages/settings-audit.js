/** Settings, Audit log: who changed what, when, and from where. */

import { api } from "console/core/api";
import { useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { Pagination, Table } from "console/core/lists";
import { Button, Choice, Empty, Icon, Time } from "console/core/parts";
import { route, setQuery } from "console/core/route";
import { can } from "console/core/session";
import { Changes } from "console/parts/history";
import { SettingsHeader } from "console/parts/settings";

/** The actions by which the log can be filtered, by kind of object. */
const ACTIONS = {
  "Short links": [
    "short_link.created",
    "short_link.changed",
    "short_link.archived",
    "short_link.restored",
  ],
  Tags: ["tag.created", "tag.renamed", "tag.deleted"],
  Domains: ["domain.added", "domain.verified", "domain.changed", "domain.deleted"],
  "Event configurations": ["event_config.created", "event_config.changed", "event_config.archived"],
  Conversions: ["conversion.corrected"],
  Webhooks: [
    "webhook.created",
    "webhook.changed",
    "webhook.deleted",
    "webhook.secret_rotated",
    "webhook.deliveries_retried",
  ],
  "API keys": ["api_key.created", "api_key.revoked"],
  People: [
    "invitation.created",
    "invitation.withdrawn",
    "member.joined",
    "member.role_changed",
    "member.removed",
    "password_reset.created",
    "password_reset.withdrawn",
    "password_reset.used",
    "person.changed",
    "session.signed_in",
    "session.signed_out",
    "password.changed",
    "totp.enabled",
    "totp.disabled",
    "totp.refused",
    "recovery_code.used",
  ],
  Reports: ["share.created", "share.revoked", "view.created", "view.deleted"],
  Costs: ["cost.stored", "cost.restored", "cost.deleted"],
  Account: ["account.changed"],
};

/** The page. Its filters are in the URL. */
export default function AuditLog() {
  const { page, action, target, actor } = route.value.query;
  const log = useLoad(
    (signal) => api.get("/api/audit", { page, action, target, actor }, signal),
    [page, action, target, actor],
  );
  const narrowed = action || target || actor;
  const empty = html`<${Empty} title=${narrowed ? "Nothing fits" : "Nothing yet"}>
    <p>Every change in this account is listed here for 400 days.</p>
  <//>`;
  return html`
    <${SettingsHeader}
      title="Audit log"
      about="Every change in this account, by people, API keys and the operator."
    />
    ${
      can("audit:read") &&
      html`<div class="filters">
        <${Icon} name="filter" />
        <${Choice}
          label="Action"
          value=${action ?? ""}
          options=${[["", "Every action"], ...Object.entries(ACTIONS).map(actionGroup)]}
          onInput=${(value) => setQuery({ action: value, page: null })}
        />
        ${
          narrowed &&
          html`<${Button}
            kind="quiet"
            icon="close"
            onClick=${() => setQuery({ action: null, target: null, actor: null, page: null })}
          >
            Show everything
          <//>`
        }
      </div>`
    }
    <${Table} caption="Audit log" load=${log} columns=${COLUMNS} empty=${empty} />
    <${Pagination} pagination=${log.data?.pagination} noun="entry" plural="entries" />
  `;
}

const COLUMNS = [
  { label: "When", cell: (entry) => html`<${Time} at=${entry.at} />` },
  { label: "Who", cell: (entry) => html`<${Who} entry=${entry} />` },
  { label: "What", wide: true, cell: (entry) => html`<${What} entry=${entry} />` },
  { label: "From", cell: (entry) => html`<span class="mono">${entry.address || "–"}</span>` },
];

function Who({ entry: { actor } }) {
  if (!actor.id) return html`<span>${actor.name}</span>`;
  return html`<button
    type="button"
    class="link"
    title="Show only what ${actor.name} did"
    onClick=${() => setQuery({ actor: actor.id, page: null })}
  >
    ${actor.name}
  </button>`;
}

function What({ entry }) {
  const { action, target, changes } = entry;
  return html`<div class="main-cell">
    <strong>${words(action)}</strong>
    ${
      target.id
        ? html`<span>
          <button
            type="button"
            class="link"
            title="Show only ${target.name}"
            onClick=${() => setQuery({ target: target.id, page: null })}
          >
            ${target.name}
          </button>
        </span>`
        : html`<span>${target.name}</span>`
    }
    <${Changes} changes=${changes} />
  </div>`;
}

/** Return an action as people say it: "short_link.created" is "Short link created". */
function actionGroup([group, actions]) {
  return [group, actions.map((one) => [one, words(one)])];
}

function words(action) {
  const text = action.replace(/[._]/g, " ");
  return text[0].toUpperCase() + text.slice(1);
}
