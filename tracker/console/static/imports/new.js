/** The dialog to begin an import: with a key from an API, else from a file that is sent next. */

import { api, owned } from "console/core/api";
import { FormFields, namesOf, useFields } from "console/core/fields";
import { useAction, useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { ErrorNote } from "console/core/parts";
import { navigate } from "console/core/route";
import { Dialog } from "console/parts/dialog";

/** The dialog. */
export function NewDialog({ onClose }) {
  const sources = useLoad((signal) => api.get("/api/imports/sources", {}, signal), []);
  const { fields, set } = useFields({ source: "", instance: "", "api.url": "", "api.key": "" });
  const rows = sources.data?.rows ?? [];
  const source = rows.find(({ name }) => name === fields.source) ?? rows[0];
  const [create, busy, error] = useAction(async () => {
    const { instance, "api.url": url, "api.key": key } = fields;
    const sent = { source: source.name, instance, ...(key && { api: { url, key } }) };
    const created = await api.post("/api/imports", owned(sent), { timeout: 60_000 });
    navigate(`/console/imports/${created.id}`);
  });
  const list = [
    { name: "source", label: "From", options: rows.map(({ name, label }) => [name, label]) },
    { name: "instance", label: "Installation", hint: "Any name, if you have several." },
    ...(source?.has_api
      ? [
          { name: "api.url", label: "Address of its API", placeholder: source.api_address },
          {
            name: "api.key",
            label: "Key",
            type: "password",
            autocomplete: "new-password", // so that no browser offers to keep it
            hint: "Kept nowhere. Empty: send a file.",
          },
        ]
      : []),
  ];
  const own = { title: "New import", action: "Continue", disabled: !source };
  return html`<${Dialog} ...${{ ...own, busy, onClose }} onSubmit=${create}>
    <${FormFields} ...${{ list, fields, set, error }} />
    ${source?.files.length > 0 && html`<p class="hint">Files: ${source.files.join(", ")}</p>`}
    <${ErrorNote} error=${error ?? sources.error} fields=${namesOf(list)} />
  <//>`;
}
