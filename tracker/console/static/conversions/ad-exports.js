/** The files of conversions that ad platforms take by hand. */

import { owned } from "console/core/api";
import { html } from "console/core/html";
import { Menu } from "console/core/parts";
import { queryText } from "console/core/url";

const PLATFORMS = { "google-ads": "Google Ads", "microsoft-ads": "Microsoft Advertising" };

/** A menu of downloads: the approved conversions of clicks that carried a platform’s id. */
export function AdExports({ filters: { event, link, from, to } }) {
  const query = queryText(owned({ event, link, from, to, format: "csv" }));
  const items = Object.entries(PLATFORMS).map(([name, label]) => ({
    label,
    href: `/api/conversions/export/${name}${query}`,
  }));
  return html`<${Menu} kind="plain" icon="download" label="Ads: files for platforms" items=${items}>
    Ads
  <//>`;
}
