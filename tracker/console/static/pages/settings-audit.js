/** Settings, Audit log: who changed what, when, and from where. */

import { api, owned } from "console/core/api";
import { useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { Pagination, SearchBox, Table } from "console/core/lists";
import { Button, Choice, Empty, Time } from "console/core/parts";
import { route, setQuery } from "console/core/route";
import { can } from "console/core/session";
import { queryText } from "console/core/url";
import { DayInput } from "console/parts/day-input";
import { Changes } from "console/parts/history";
import { SettingsHeader } from "console/parts/settings";

/** The actions by which the log can be filtered, in words, by kind of object. */
const ACTIONS = {
  "Short links": {
    "short_link.created": "Created the link",
    "short_link.changed": "Changed the link",
    "short_link.archived": "Archived the link",
    "short_link.restored": "Restored the link",
  },
  Tags: {
    "tag.created": "Created the tag",
    "tag.renamed": "Renamed the tag",
    "tag.deleted": "Deleted the tag",
  },
  Domains: {
    "domain.added": "Added the domain",
    "domain.verified": "Proved the domain",
    "domain.changed": "Changed the domain",
    "domain.deleted": "Deleted the domain",
  },
  "Event configurations": {
    "event_config.created": "Created the event configuration",
    "event_config.changed": "Changed the event configuration",
    "event_config.archived": "Archived the event configuration",
  },
  Conversions: { "conversion.corrected": "Corrected the conversion" },
  Webhooks: {
    "webhook.created": "Created the webhook",
    "webhook.changed": "Changed the webhook",
    "webhook.deleted": "Deleted the webhook",
    "webhook.secret_rotated": "Changed the secret of the webhook",
    "webhook.deliveries_retried": "Sent deliveries of the webhook again",
    "alert.created": "Created the alert",
    "alert.changed": "Changed the alert",
    "alert.deleted": "Deleted the alert",
    "summary.created": "Created the summary",
    "summary.deleted": "Deleted the summary",
  },
  "API keys": {
    "api_key.created": "Created the API key",
    "api_key.revoked": "Revoked the API key",
    "mcp.called": "Called the tool",
  },
  People: {
    "invitation.created": "Invited",
    "invitation.withdrawn": "Withdrew the invitation",
    "member.joined": "Joined",
    "member.role_changed": "Changed the role of",
    "member.removed": "Removed",
    "password_reset.created": "Made a password reset for",
    "password_reset.withdrawn": "Withdrew the password reset of",
    "password_reset.used": "Set a new password by a reset",
    "person.changed": "Changed the profile",
    "session.signed_in": "Signed in",
    "session.signed_out": "Signed out",
    "password.changed": "Changed the password",
    "totp.enabled": "Switched the second factor on",
    "totp.disabled": "Switched the second factor off",
    "totp.refused": "Gave a wrong code",
    "recovery_code.used": "Used a recovery code",
  },
  Reports: {
    "share.created": "Shared the report",
    "share.revoked": "Ended the shared report",
    "view.created": "Saved the view",
    "view.deleted": "Deleted the view",
  },
  Costs: {
    "cost.stored": "Stored the cost",
    "cost.restored": "Restored the cost",
    "cost.deleted": "Deleted the cost",
  },
  Account: {
    "account.changed": "Changed the account",
    "account.utm_templates_changed": "Changed its",
  },
};
const WORDS = Object.assign({}, ...Object.values(ACTIONS));
const FILTERS = ["action", "target", "actor", "search", "from", "to"];

/** The page. Its filters are in the URL. */
export default function AuditLog() {
  const { query } = route.value;
  const filters = Object.fromEntries(FILTERS.map((name) => [name, query[name]]));
  const log = useLoad(
    (signal) => api.get("/api/audit", { page: query.page, ...filters }, signal),
    [query.page, ...Object.values(filters)],
  );
  const narrowed = Object.values(filters).some(Boolean);
  const empty = html`<${Empty} title=${narrowed ? "Nothing fits" : "Nothing yet"}>
    <p>Every change in this account is listed here for 400 days.</p>
  <//>`;
  return html`
    <${SettingsHeader}
      title="Audit log"
      about="Every change in this account, by people, API keys and the operator."
    />
    ${can("audit:read") && html`<${Filters} ...${{ filters, narrowed }} />`}
    <${Table} caption="Audit log" load=${log} columns=${COLUMNS} empty=${empty} />
    <${Pagination} pagination=${log.data?.pagination} noun="entry" plural="entries" />
  `;
}

function Filters({ filters, narrowed }) {
  const { action = "", from, to } = filters;
  const pick = (name) => (value) => setQuery({ [name]: value || null, page: null });
  const file = queryText({ ...filters, ...owned({}), format: "csv" });
  return html`<div class="filters">
    <${SearchBox} label="Search names" />
    <${Choice}
      label="Action"
      value=${action}
      options=${[["", "Every action"], ...Object.entries(ACTIONS).map(actionGroup)]}
      onInput=${pick("action")}
    />
    <label class="row">From <${DayInput} value=${from} max=${to} onDay=${pick("from")} /></label>
    <label class="row">to <${DayInput} value=${to} min=${from} onDay=${pick("to")} /></label>
    ${
      narrowed &&
      html`<${Button}
        kind="quiet"
        icon="close"
        onClick=${() =>
          setQuery({ ...Object.fromEntries(FILTERS.map((name) => [name, null])), page: null })}
      >
        Show everything
      <//>`
    }
    <a class="button end" href="/api/audit/export${file}" download>CSV</a>
  </div>`;
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

function actionGroup([group, actions]) {
  return [group, Object.entries(actions)];
}

/** Return an action in words: those of an import are its own, "Import undo". */
function words(action) {
  const text = action.replace(/[._]/g, " ");
  return WORDS[action] ?? text[0].toUpperCase() + text.slice(1);
}
