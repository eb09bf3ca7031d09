/** The frame of the settings: one heading for all of them, and the way between them. */

import { html } from "console/core/html";
import { PageHeader, Tabs } from "console/core/parts";
import { can } from "console/core/session";

const TABS = [
  { href: "/console/settings/keys", label: "API Keys", scope: "keys:read" },
  { href: "/console/settings/account", label: "Account", scope: "account:read" },
  { href: "/console/settings/members", label: "Members", scope: "members:read" },
  { href: "/console/settings/shares", label: "Shared reports", scope: "shares:read" },
  { href: "/console/settings/security", label: "Security" },
  { href: "/console/settings/audit", label: "Audit log", scope: "audit:read" },
];

/** Return the pages of the settings that the reader may see, as tabs. */
export function settingsTabs() {
  return TABS.filter(({ scope }) => !scope || can(scope));
}

/** The head of a page of the settings. `title` names the page, its children are its actions. */
export function SettingsHeader({ title, about, children }) {
  return html`
    <${Tabs} label="Settings" tabs=${settingsTabs()} />
    <${PageHeader} ...${{ title, about }}>${children}<//>
  `;
}
