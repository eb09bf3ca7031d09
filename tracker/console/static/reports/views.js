/** Saved views of the account: reports by name. */

import { useState } from "preact/hooks";
import { api, owned } from "console/core/api";
import { TextField } from "console/core/fields";
import { useAction, useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { Button, ErrorNote, Skeleton } from "console/core/parts";
import { route } from "console/core/route";
import { can } from "console/core/session";
import { toast } from "console/core/toasts";
import { loadAll } from "console/parts/all";
import { Dialog } from "console/parts/dialog";

/** Return the address of a view: that of the overview, unless its query names another page. */
const addressOf = ({ query }) =>
  `/console/${/^page=table\b/.test(query) ? "table" : "overview"}?${query}`;

/** The dialog with all views, and a field to save what is shown as one more. */
export function ViewsDialog({ onClose }) {
  const views = useLoad((signal) => loadAll("/api/views", signal), []);
  const [name, setName] = useState("");
  const [save, busy, error] = useAction(async () => {
    const { path, query } = route.peek();
    const page = path === "/console/table" ? { page: "table" } : {};
    const text = new URLSearchParams({ ...page, ...query }).toString();
    await api.post("/api/views", owned({ name, query: text }));
    setName("");
    views.reload();
  });
  const remove = async (view) => {
    try {
      await api.delete(`/api/views/${view.id}`);
    } catch (failure) {
      return toast(failure.message, { kind: "bad" });
    }
    views.reload();
  };
  const rows = views.data?.rows;
  const mayWrite = can("views:write");
  return html`<${Dialog}
    title="Views"
    about="Reports of the account by name, with their days, filters and panels."
    onClose=${onClose}
    onSubmit=${save}
    busy=${busy}
    footer=${
      mayWrite &&
      html`
        <${Button} onClick=${onClose}>
          Close
        <//>
        <${Button} kind="main" type="submit" busy=${busy} disabled=${!name.trim()}>
          Save this view
        <//>
      `
    }
  >
    <${ErrorNote} error=${views.error} retry=${views.reload} />
    ${!rows && !views.error && html`<${Skeleton} />`}
    ${rows?.length === 0 && html`<p class="about">No views yet.</p>`}
    ${
      rows?.length > 0 &&
      html`<ul class="view-list">
        ${rows.map(
          (view) => html`<li key=${view.id}>
            <a href=${addressOf(view)} onClick=${onClose}>${view.name}</a>
            ${
              mayWrite &&
              html`<${Button}
                kind="quiet"
                icon="trash"
                label="Delete ${view.name}"
                onClick=${() => remove(view)}
              />`
            }
          </li>`,
        )}
      </ul>`
    }
    ${
      mayWrite &&
      html`<${TextField}
        label="Save what is shown as"
        name="name"
        maxlength="80"
        error=${error}
        value=${name}
        onInput=${setName}
        data-focus
      />`
    }
    <${ErrorNote} error=${error} fields=${["name"]} />
  <//>`;
}
