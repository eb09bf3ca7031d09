/** The search for another account, for a person in so many that no choice can show them all. */

import { useState } from "preact/hooks";
import { api } from "console/core/api";
import { TextField } from "console/core/fields";
import { useLoad, useSettled } from "console/core/hooks";
import { html } from "console/core/html";
import { Button, ErrorNote } from "console/core/parts";
import { Dialog } from "console/parts/dialog";

/** The dialog. `onChoose` gets the id of an account. */
export function AccountDialog({ onChoose, onClose }) {
  const [text, setText] = useState("");
  const search = useSettled(text.trim(), 150);
  const found = useLoad((signal) => api.get("/api/session/accounts", { search }, signal), [search]);
  const rows = found.data?.rows ?? [];
  return html`<${Dialog} title="Switch account" onClose=${onClose}>
    <${TextField} label="Name" value=${text} onInput=${setText} />
    <${ErrorNote} error=${found.error} retry=${found.reload} />
    <ul class="palette" aria-label="Accounts">
      ${rows.map(
        ({ id, name, role }) => html`<li key=${id}>
          <${Button} kind="quiet" onClick=${() => onChoose(id)}>${name}<//>
          <span class="hint">${role}</span>
        </li>`,
      )}
    </ul>
    ${found.data && rows.length === 0 && html`<p class="about">Nothing is called that.</p>`}
  <//>`;
}
