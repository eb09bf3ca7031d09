/** The settings of a domain: where visitors go whom no link takes elsewhere, and texts for apps. */

import { api } from "console/core/api";
import { FormFields, namesOf, useFields } from "console/core/fields";
import { useAction, useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { ErrorNote } from "console/core/parts";
import { toast } from "console/core/toasts";
import { completedUrl } from "console/links/typed-url";
import { Dialog } from "console/parts/dialog";

const url = (name, label, hint) => ({ name, label, hint, inputmode: "url", maxlength: 2048 });
const FIELDS = [
  url("root_url", "Without a path", "Where the hostname alone leads. Empty: not found."),
  url("not_found_url", "Unknown paths", "Where a path leads that no link has. Empty: not found."),
  url("expired_url", "Before and after", "Unless the link says so itself. Empty: not found."),
  { name: "apple_app_site_association", label: "apple-app-site-association", rows: 4 },
  { name: "assetlinks", label: "assetlinks.json", rows: 4, hint: "For apps that open links." },
  { name: "case_sensitive", label: "Upper and lower case differ in links", checkbox: true },
];

/** The dialog, once the domain is there with its texts, which the list leaves out. `onDone` gets it. */
export function DomainSettings({ domain: { id }, onClose, onDone }) {
  const { data, error } = useLoad((signal) => api.get(`/api/domains/${id}`, {}, signal), [id]);
  if (data) return html`<${Settings} domain=${data} ...${{ onClose, onDone }} />`;
  return (
    error &&
    html`<${Dialog} title="Settings" onClose=${onClose}><${ErrorNote} ...${{ error }} /><//>`
  );
}

function Settings({ domain, onClose, onDone }) {
  const names = namesOf(FIELDS);
  const { fields, set } = useFields(
    Object.fromEntries(names.map((name) => [name, domain[name] ?? ""])),
  );
  const [save, busy, error] = useAction(async () => {
    const typed = names.map((name) => {
      const value = name.endsWith("_url") ? completedUrl(fields[name]) : fields[name];
      return [name, value === "" ? null : value];
    });
    const changed = typed.filter(([name, value]) => value !== domain[name]);
    onDone(await api.patch(`/api/domains/${domain.id}`, Object.fromEntries(changed)));
    toast("Saved");
    onClose();
  });
  const title = `Settings of ${domain.domain_name}`;
  return html`<${Dialog} wide action="Save" ...${{ title, busy, onClose }} onSubmit=${save}>
    <${FormFields} list=${FIELDS} ...${{ fields, set, error }} />
    <${ErrorNote} error=${error} fields=${names} />
  <//>`;
}
