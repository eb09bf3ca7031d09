/** Time zones, for a field to choose one of them. */

import { html } from "console/core/html";

/** The list of a text field with `list=${id}`. */
export function ZoneList({ id }) {
  const zones = new Set(["UTC", ...(Intl.supportedValuesOf?.("timeZone") ?? [])]);
  return html`<datalist id=${id}>
    ${[...zones].map((one) => html`<option value=${one} />`)}
  </datalist>`;
}

/** Return the zone of the browser. */
export function ownZone() {
  return Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
}
