/** Domains: the hostnames of the account, and the DNS record that proves each. */

import { useCallback, useState } from "preact/hooks";
import { api, owned } from "console/core/api";
import { TextField } from "console/core/fields";
import { format } from "console/core/format";
import { useAction, useLoad, useShortcut } from "console/core/hooks";
import { html } from "console/core/html";
import { Pagination } from "console/core/lists";
import { Badge, Button, Empty, ErrorNote, PageHeader, Skeleton, Time } from "console/core/parts";
import { route } from "console/core/route";
import { can } from "console/core/session";
import { toast } from "console/core/toasts";
import { CopyValue } from "console/parts/code";
import { ConfirmDeletion, Dialog } from "console/parts/dialog";
import { DomainSettings } from "console/domains/settings";
import { hostnameOf } from "console/links/typed-url";

/** The page. */
export default function Domains() {
  const { page } = route.value.query;
  const domains = useLoad((signal) => api.get("/api/domains", { page }, signal), [page]);
  const [open, setOpen] = useState(null);
  const mayWrite = can("domains:write");
  const add = useCallback(() => mayWrite && setOpen({ kind: "add" }), [mayWrite]);
  useShortcut("c", "Add a domain", add);
  const close = () => setOpen(null);
  const rows = domains.data?.rows;
  const put = (saved) =>
    domains.set((data) => ({
      ...data,
      rows: data.rows.map((one) => (one.id === saved.id ? { ...one, ...saved } : one)),
    }));

  return html`
    <${PageHeader}
      title="Domains"
      about="Short links on a hostname of your own, such as go.example.com."
    >
      ${mayWrite && html`<${Button} kind="main" icon="plus" onClick=${add}>Add a domain<//>`}
    <//>
    <${ErrorNote} error=${domains.error} retry=${domains.reload} />
    ${!rows && !domains.error && html`<div class="card"><${Skeleton} lines=${4} /></div>`}
    ${rows?.length === 0 && html`<${NoDomains} add=${mayWrite && add} />`}
    <div class="stack">
      ${rows?.map(
        (domain) => html`<${Domain}
          key=${domain.id}
          domain=${domain}
          reload=${domains.reload}
          onDelete=${() => setOpen({ kind: "delete", domain })}
          onSettings=${() => setOpen({ kind: "settings", domain })}
        />`,
      )}
    </div>
    <${Pagination} pagination=${domains.data?.pagination} noun="domain" />
    ${open?.kind === "add" && html`<${AddDialog} onClose=${close} onDone=${domains.reload} />`}
    ${
      open?.kind === "settings" &&
      html`<${DomainSettings} domain=${open.domain} onClose=${close} onDone=${put} />`
    }
    ${
      open?.kind === "delete" &&
      html`<${DeleteDialog} domain=${open.domain} onClose=${close} onDone=${domains.reload} />`
    }
  `;
}

function NoDomains({ add }) {
  const action =
    add && html`<${Button} kind="main" icon="plus" onClick=${add}>Add your first domain<//>`;
  return html`<${Empty} title="No domains yet" action=${action}>
    <p>
      Visitors trust <code>go.yourshop.example/spring</code> more than a name that they do not
      know. You need access to the DNS of your domain.
    </p>
  <//>`;
}

function Domain({ domain, reload, onDelete, onSettings }) {
  const [verify, busy, error] = useAction(async () => {
    await api.post(`/api/domains/${domain.id}/verify`).finally(reload);
    toast(`${domain.domain_name} is verified`);
  });
  const mayWrite = can("domains:write");
  return html`<section class="card">
    <header class="row between">
      <div class="row">
        <h2>${domain.domain_name}</h2>
        ${
          domain.verified
            ? html`<${Badge} kind="good">
              verified
            <//>`
            : html`<${Badge} kind="warning">not verified<//>`
        }
      </div>
      <div class="row">
        ${
          can("reports:read") &&
          html`<${Button}
            kind="quiet"
            icon="chart"
            href="/console/overview?domain=${domain.domain_name}"
            label="Report of ${domain.domain_name}"
          />`
        }
        ${
          domain.verified &&
          html`<${Button}
            kind="quiet"
            icon="search"
            href="/console/domains/${domain.id}/unknown-paths"
            label="Unknown paths of ${domain.domain_name}"
          />`
        }
        ${
          mayWrite &&
          html`<${Button}
            kind="quiet"
            icon="edit"
            label="Settings of ${domain.domain_name}"
            onClick=${onSettings}
          />`
        }
        ${
          mayWrite &&
          !domain.verified &&
          html`<${Button}
            kind="main"
            icon="refresh"
            label="Check now: ${domain.domain_name}"
            busy=${busy}
            onClick=${verify}
          >
            Check now
          <//>`
        }
        ${
          mayWrite &&
          html`<${Button}
            kind="danger"
            icon="trash"
            label="Delete ${domain.domain_name}"
            onClick=${onDelete}
          />`
        }
      </div>
    </header>
    <p class="about">
      Added <${Time} at=${domain.created_at} />
      ${domain.links !== undefined && ` · ${format.count(domain.links, "link")}`}
    </p>
    ${!domain.verified && html`<${Records} verification=${domain.verification} />`}
    <${ErrorNote} error=${error} />
    <${LastCheck} check=${domain.last_check} />
  </section>`;
}

/** The records of which one is needed. */
function Records({ verification: { txt, cname } }) {
  const record = (type, { name, value }, about) => html`<tr>
    <td><strong>${type}</strong><br /><span class="hint">${about}</span></td>
    <td data-label="Name"><${CopyValue} text=${name} label="the name of the ${type} record" /></td>
    <td data-label="Value">
      <${CopyValue} text=${value} label="the value of the ${type} record" />
    </td>
  </tr>`;
  return html`<div class="stack close">
    <p>
      Set one of these records where the DNS of the domain is kept, then check. A change may take
      some minutes until it is seen.
    </p>
    <div class="records">
      <table>
        <caption class="visually-hidden">DNS records</caption>
        <thead>
          <tr><th scope="col">Type</th><th scope="col">Name</th><th scope="col">Value</th></tr>
        </thead>
        <tbody>
          ${cname && record("CNAME", cname, "proves it, and leads visitors here")}
          ${record("TXT", txt, "proves it; visitors need an A or AAAA record too")}
        </tbody>
      </table>
    </div>
  </div>`;
}

/** What the last check saw, so that a typing error in the DNS is found here. */
function LastCheck({ check }) {
  if (!check) return null;
  const seen = [
    ...check.txt.map((value) => ["TXT", value]),
    ...check.cname.map((value) => ["CNAME", value]),
  ];
  const outcome = html`
    Last check <${Time} at=${check.at} />: ${
      check.proven ? "found the record" : (check.error ?? "did not find a record that fits")
    }
  `;
  if (!seen.length)
    return html`<p class="about">
      ${outcome}
      ${!check.error && ". The DNS had no TXT or CNAME record there."}
    </p>`;
  return html`<details class="last-check" open=${!check.proven}>
    <summary>${outcome}</summary>
    <ul>
      ${seen.map(([type, value]) => html`<li><strong>${type}</strong> <code>${value}</code></li>`)}
    </ul>
  </details>`;
}

function AddDialog({ onClose, onDone }) {
  const [name, setName] = useState("");
  const [add, busy, error] = useAction(async () => {
    await api.post("/api/domains", owned({ domain_name: hostnameOf(name) }));
    toast("Added. Now set its DNS record.");
    onDone();
    onClose();
  });
  return html`<${Dialog} title="Add a domain" action="Add" ...${{ busy, onClose }} onSubmit=${add}>
    <${TextField}
      label="Hostname"
      name="domain_name"
      placeholder="go.example.com"
      required
      spellcheck=${false}
      autocapitalize="none"
      error=${error}
      value=${name}
      onInput=${setName}
      onBlur=${() => setName(hostnameOf(name))}
    />
    <${ErrorNote} error=${error} fields=${["domain_name"]} />
  <//>`;
}

function DeleteDialog({ domain, onClose, onDone }) {
  return html`<${ConfirmDeletion}
    title="Delete ${domain.domain_name}?"
    action="Delete the domain"
    typed=${domain.verified ? domain.domain_name : ""}
    path="/api/domains/${domain.id}"
    done="${domain.domain_name} is deleted"
    ...${{ onClose, onDone }}
  >
    <p>
      Its archived links no longer open, and it can only be deleted while no other link uses it.
    </p>
    ${domain.verified && html`<p>Nobody else can add a verified name for 30 days.</p>`}
  <//>`;
}
