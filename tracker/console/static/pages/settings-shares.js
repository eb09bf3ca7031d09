/** Settings, Shared reports: the public links to reports, and their end. */

import { useState } from "preact/hooks";
import { api } from "console/core/api";
import { format } from "console/core/format";
import { useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { Pagination, Table } from "console/core/lists";
import { Badge, Button, Empty, Time } from "console/core/parts";
import { route } from "console/core/route";
import { can } from "console/core/session";
import { ConfirmDeletion } from "console/parts/dialog";
import { SettingsHeader } from "console/parts/settings";
import { rollingDays } from "console/reports/share";
import { daysText } from "console/reports/words";

/** The page. */
export default function Shares() {
  const { page } = route.value.query;
  const shares = useLoad(
    (signal) => api.get("/api/shares", { page, revoked: true }, signal),
    [page],
  );
  const [leaving, setLeaving] = useState(null);
  const empty = html`<${Empty} title="No report is shared">
    <p>The overview has a button for it: a link that shows one report, and nothing else.</p>
  <//>`;
  return html`
    <${SettingsHeader}
      title="Shared reports"
      about="Whoever has the link of one sees it without signing in."
    />
    <${Table}
      caption="Shared reports"
      load=${shares}
      columns=${columns(setLeaving)}
      empty=${empty}
    />
    <${Pagination} pagination=${shares.data?.pagination} noun="shared report" />
    ${
      leaving &&
      html`<${ConfirmDeletion}
        title="Revoke “${leaving.name}”?"
        action="Revoke"
        path="/api/shares/${leaving.id}"
        done="“${leaving.name}” is revoked"
        onDone=${shares.reload}
        onClose=${() => setLeaving(null)}
      >
        <p>Its link stops working. This cannot be undone.</p>
      <//>`
    }
  `;
}

function columns(setLeaving) {
  return [
    { label: "Title", wide: true, cell: (share) => html`<strong>${share.name}</strong>` },
    { label: "Status", cell: (share) => html`<${Badge} ...${stateOf(share)} />` },
    { label: "Days", cell: ({ report }) => rollingDays(report) || daysText(report.dateRange) },
    {
      label: "Asks for",
      cell: (share) =>
        share.has_password
          ? html`<${Badge} kind="good">a password<//>`
          : html`<${Badge}>nothing<//>`,
    },
    { label: "Readers may", cell: freedoms },
    { label: "Link names", cell: (share) => (share.show_link_names ? "shown" : "hidden") },
    {
      label: "Opened",
      cell: (share) =>
        html`<span class="main-cell">
          <span>${share.last_opened_at ? format.count(share.opens, "time") : "never"}</span>
          ${share.last_opened_at && html`<${Time} at=${share.last_opened_at} />`}
        </span>`,
    },
    {
      label: "Shared",
      cell: (share) =>
        html`<span class="main-cell">
          <${Time} at=${share.created_at} />
          ${share.created_by && html`<span>by ${share.created_by.name}</span>`}
        </span>`,
    },
    can("shares:write") && {
      label: "Actions",
      actions: true,
      cell: (share) =>
        !share.revoked_at &&
        html`<${Button}
          kind="danger"
          label="Revoke ${share.name}"
          onClick=${() => setLeaving(share)}
        >
          Revoke
        <//>`,
    },
  ].filter(Boolean);
}

const FREEDOMS = { choose_days: "choose days", all_rows: "open all rows", download: "take CSV" };

function freedoms(share) {
  const may = Object.keys(FREEDOMS).filter((name) => share[name]);
  return may.map((name) => FREEDOMS[name]).join(", ") || "look";
}

/** Return whether a link still opens its report, as a badge. */
function stateOf({ revoked_at, expires_at }) {
  if (revoked_at) return { children: `Revoked ${format.date(revoked_at)}` };
  if (!expires_at) return { kind: "good", children: "Active, no end" };
  const hasEnded = Date.parse(expires_at) <= Date.now();
  return hasEnded
    ? { children: `Ended ${format.date(expires_at)}` }
    : { kind: "good", children: `Active until ${format.date(expires_at)}` };
}
