/** The QR code of a link, to look at and to take away. */

import { html } from "console/core/html";
import { Button } from "console/core/parts";
import { Dialog } from "console/parts/dialog";

/** The picture, with its downloads. */
export function QrCode({ link }) {
  const base = `/api/short-links/${link.id}/qr`;
  return html`<div class="stack close">
    <div class="qr"><img src="${base}.svg?border=0" alt="QR code of ${link.short_url}" /></div>
    <div class="row">
      <a class="button" href="${base}.svg" download="${link.slug}.svg">SVG</a>
      <a class="button" href="${base}.png?scale=20" download="${link.slug}.png">PNG</a>
    </div>
  </div>`;
}

/** The dialog with the QR code of `link`. */
export function QrDialog({ link, onClose }) {
  const footer = html`<${Button} kind="main" onClick=${onClose}>Close<//>`;
  return html`<${Dialog} title="QR code" about=${link.short_url} ...${{ footer, onClose }}>
    <${QrCode} link=${link} />
  <//>`;
}
