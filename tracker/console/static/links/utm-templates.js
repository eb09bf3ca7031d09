/** UTM templates of the account, in the form of a link: one is chosen, saved or deleted. */

import { useState } from "preact/hooks";
import { api, owned } from "console/core/api";
import { Select, TextField } from "console/core/fields";
import { useAction, useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { Button, ErrorNote } from "console/core/parts";
import { can } from "console/core/session";
import { UTM, withParameter } from "console/links/utm";

const PATH = "/api/utm-templates";

/** The templates: a chosen one sets all five values of `url`. */
export function UtmTemplates({ url, onChange }) {
  const list = useLoad((signal) => api.get(PATH, {}, signal), []);
  const [name, setName] = useState("");
  const rows = list.data?.rows ?? [];
  const known = rows.find((one) => one.name === name);
  const choose = (chosen) => {
    setName(chosen);
    const one = rows.find((row) => row.name === chosen);
    if (one) onChange(UTM.reduce((made, [utm]) => withParameter(made, utm, one[utm]), url));
  };
  const [replace, busy, error] = useAction(async (added) => {
    // Read again: others may have changed some.
    const others = (await api.get(PATH)).rows.filter((one) => one.name !== name);
    await api.put(PATH, owned({ rows: [...others, ...added] }));
    list.reload();
  });
  const given = new URL(url).searchParams;
  const values = Object.fromEntries(UTM.map(([utm]) => [utm, given.get(utm) ?? ""]));
  const isEmpty = Object.values(values).every((one) => !one);
  return html`
    ${
      rows.length > 0 &&
      html`<${Select}
        label="Template"
        options=${[["", "None"], ...rows.map((one) => [one.name, one.name])]}
        value=${known ? name : ""}
        onInput=${choose}
      />`
    }
    ${
      can("links:write") &&
      html`<${TextField} label="Name of the template" maxlength="80" value=${name} onInput=${setName} />
        <div class="row">
          <${Button}
            busy=${busy}
            disabled=${!name.trim() || isEmpty}
            onClick=${() => replace([{ name, ...values }])}
          >
            Save these values as a template
          <//>
          ${known && html`<${Button} busy=${busy} onClick=${() => replace([])}>Delete it<//>`}
        </div>`
    }
    <${ErrorNote} error=${error ?? list.error} />
  `;
}
