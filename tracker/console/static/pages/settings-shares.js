/** Settings, Shared reports: the public links to reports, and their end. */

import { Badge, Button, Empty, Pagination, Table, Time, api, can, format, html, route, toast, useLoad, useState } from "console/core";
import { ConfirmDialog } from "console/parts/dialog";
import { SettingsHeader } from "console/parts/settings";

/** The page. */
export default function Shares() {
  const { page } = route.value.query;
  const shares = useLoad((signal) => api.get("/api/shares", { page }, signal), [page]);
  const [leaving, setLeaving] = useState(null);
  const revoke = async () => {
    await api.delete(`/api/shares/${leaving.id}`);
    toast(`“${leaving.name}” is revoked`);
    shares.reload();
  };
  const empty = html`<${Empty} title="No report is shared"><p>The overview has a button for it: a link that shows one report, and nothing else.</p><//>`;
  return html`
    <${SettingsHeader} title="Shared reports" about="Whoever has the link of one sees it without signing in." />
    <${Table} caption="Shared reports" load=${shares} columns=${columns(setLeaving)} empty=${empty} />
    <${Pagination} pagination=${shares.data?.pagination} noun="shared report" />
    ${leaving && html`<${ConfirmDialog} title="Revoke “${leaving.name}”?" action="Revoke" onConfirm=${revoke} onClose=${() => setLeaving(null)}><p>Its link opens nothing from here on. This cannot be undone.</p><//>`}`;
}

function columns(setLeaving) {
  return [
    { label: "Title", wide: true, cell: (share) => html`<strong>${share.name}</strong>` },
    { label: "Days", cell: ({ report }) => (report.lastDays ? `last ${report.lastDays}` : `${report.dateRange.from} to ${report.dateRange.to}`) },
    { label: "Asks for", cell: (share) => (share.has_password ? html`<${Badge} kind="good">a password<//>` : html`<${Badge}>nothing<//>`) },
    { label: "Link names", cell: (share) => (share.show_link_names ? "shown" : "hidden") },
    { label: "Until", cell: (share) => html`<${Time} at=${share.expires_at} none="revoked" exact />` },
    { label: "Opened", cell: (share) => html`<span class="main-cell"><span>${share.opens ? format.count(share.opens, "time") : "never"}</span>${share.opens > 0 && html`<${Time} at=${share.last_opened_at} />`}</span>` },
    { label: "Shared", cell: (share) => html`<span class="main-cell"><${Time} at=${share.created_at} />${share.created_by && html`<span>by ${share.created_by.name}</span>`}</span>` },
    can("shares:write") && { label: "Actions", actions: true, cell: (share) => html`<${Button} kind="danger" label="Revoke ${share.name}" onClick=${() => setLeaving(share)}>Revoke<//>` },
  ].filter(Boolean);
}
