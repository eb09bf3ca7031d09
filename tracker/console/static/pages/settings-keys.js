/**
 * Settings, API Keys: the keys of programs that use the API; each is shown once, when it is made.
 */

import { useCallback, useState } from "preact/hooks";
import { api, owned } from "console/core/api";
import { daysFromNow } from "console/core/dates";
import { Checkbox, Select, TextField } from "console/core/fields";
import { format } from "console/core/format";
import { useAction, useLoad, useShortcut } from "console/core/hooks";
import { html } from "console/core/html";
import { Pagination, Table } from "console/core/lists";
import { Badge, Button, Empty, ErrorNote, Time } from "console/core/parts";
import { route } from "console/core/route";
import { can, session } from "console/core/session";
import { CodeBlock, Secret } from "console/parts/code";
import { ConfirmDeletion, Dialog } from "console/parts/dialog";
import { SettingsHeader } from "console/parts/settings";

const EXPIRIES = [
  ["", "Never"],
  ["7", "In 7 days"],
  ["30", "In 30 days"],
  ["90", "In 90 days"],
  ["365", "In a year"],
];

/** The resources that a scope can name, as people call them. */
const RESOURCES = [
  ["links", "Short links"],
  ["tags", "Tags"],
  ["domains", "Domains"],
  ["event_configs", "Event configurations"],
  ["conversions", "Clicks and conversions"],
  ["webhooks", "Webhooks"],
  ["reports", "Reports"],
  ["shares", "Shared reports"],
  ["views", "Views of reports"],
  ["account", "Account"],
  ["members", "Members"],
  ["keys", "API keys"],
  ["audit", "Audit log"],
];
const READ_ONLY = ["reports", "conversions", "audit"];

/** The page. */
export default function ApiKeys() {
  const { page } = route.value.query;
  const keys = useLoad((signal) => api.get("/api/keys", { page }, signal), [page]);
  const [open, setOpen] = useState(null);
  const mayWrite = can("keys:write");
  const generate = useCallback(() => mayWrite && setOpen({ kind: "generate" }), [mayWrite]);
  useShortcut("c", "Generate a key", generate);
  const close = () => setOpen(null);

  return html`
    <${SettingsHeader}
      title="API Keys"
      about="A key lets a program use the API in the name of this account, as far as its scopes go."
    >
      ${
        mayWrite &&
        html`<${Button} kind="main" icon="plus" onClick=${generate}>Generate New Key<//>`
      }
    <//>
    <${Table}
      caption="API keys"
      load=${grouped(keys)}
      columns=${columns(mayWrite, setOpen)}
      empty=${html`<${NoKeys} generate=${mayWrite && generate} />`}
    />
    <${Pagination} pagination=${keys.data?.pagination} noun="key" />
    ${
      open?.kind === "generate" &&
      html`<${GenerateDialog} onClose=${close} onDone=${keys.reload} />`
    }
    ${
      open?.kind === "revoke" &&
      html`<${RevokeDialog} apiKey=${open.key} onClose=${close} onDone=${keys.reload} />`
    }
  `;
}

/** Return the load with each key below the one that made it, if that is on the page. */
function grouped(keys) {
  if (!keys.data) return keys;
  const ids = new Set(keys.data.rows.map((key) => key.id));
  const under = (id) =>
    keys.data.rows
      .filter(({ parent }) => (ids.has(parent?.id) ? parent.id : null) === id)
      .flatMap((key) => [{ ...key, isChild: id !== null }, ...under(key.id)]);
  return { ...keys, data: { ...keys.data, rows: under(null) } };
}

function columns(mayWrite, setOpen) {
  return [
    { label: "Name", wide: true, cell: (key) => html`<${Name} apiKey=${key} />` },
    { label: "Scopes", cell: (key) => html`<${Scopes} scopes=${key.scopes} />` },
    { label: "State", cell: (key) => html`<${State} apiKey=${key} />` },
    { label: "Last used", cell: (key) => html`<${Time} at=${key.last_used_at} none="never" />` },
    {
      label: "Created",
      cell: (key) =>
        html`<span class="main-cell">
          <${Time} at=${key.created_at} />
          ${key.created_by && html`<span>by ${key.created_by.name}</span>`}
        </span>`,
    },
    mayWrite && {
      label: "Actions",
      actions: true,
      cell: (key) =>
        (!isOver(key) || key.descendants.length > 0) &&
        html`<${Button}
          kind="danger"
          label="Revoke ${key.name}"
          onClick=${() => setOpen({ kind: "revoke", key })}
        >
          Revoke
        <//>`,
    },
  ].filter(Boolean);
}

function Name({ apiKey: { name, prefix, parent, isChild } }) {
  const made =
    parent &&
    html`<span>made with “${parent.name}”${parent.revoked_at && ", which is revoked"}</span>`;
  return html`<span class="main-cell${isChild ? " child" : ""}">
    <strong>${name}</strong>
    <span class="mono">${prefix}…</span>
    ${made}
  </span>`;
}

function isOver(key) {
  return Boolean(key.revoked_at) || isExpired(key);
}

function isExpired(key) {
  return Boolean(key.expires_at) && Date.parse(key.expires_at) <= Date.now();
}

function Scopes({ scopes }) {
  if (scopes === null) return html`<${Badge} kind="warning">all<//>`;
  const shown = scopes.slice(0, 3).join(", ");
  const more = scopes.length > 3 ? ` and ${scopes.length - 3} more` : "";
  return html`<span class="mono" title=${scopes.join("\n")}>${shown}${more}</span>`;
}

function State({ apiKey: key }) {
  if (key.revoked_at)
    return html`<${Badge} kind="bad">revoked<//> <${Time} at=${key.revoked_at} />`;
  if (isExpired(key))
    return html`<${Badge} kind="bad">expired<//> <${Time} at=${key.expires_at} />`;
  return html`
    <${Badge} kind="good">active<//> ${
      key.expires_at && html`<span class="faint">until ${format.date(key.expires_at)}</span>`
    }
  `;
}

function NoKeys({ generate }) {
  const action =
    generate && html`<${Button} kind="main" icon="plus" onClick=${generate}>Generate New Key<//>`;
  return html`<${Empty} title="No API keys yet" action=${action}>
    <p>A program sends its key with every request: <code>Authorization: Bearer trk_…</code></p>
  <//>`;
}

/** The dialog that makes a key: first a form, then the key itself, which is not shown again. */
function GenerateDialog({ onClose, onDone }) {
  const [name, setName] = useState("");
  const [expiry, setExpiry] = useState("");
  const [everything, setEverything] = useState(session.value.scopes === null);
  const [scopes, setScopes] = useState(new Set(["links:read", "links:write"]));
  const [made, setMade] = useState(null);
  const [generate, busy, error] = useAction(async () => {
    const expires_at = expiry ? daysFromNow(Number(expiry)).toISOString() : null;
    setMade(
      await api.post(
        "/api/keys",
        owned({ name, expires_at, scopes: everything ? null : [...scopes] }),
      ),
    );
    onDone();
  });
  if (made) return html`<${MadeDialog} made=${made} onClose=${onClose} />`;
  return html`<${Dialog}
    title="Generate a key"
    action="Generate"
    disabled=${!everything && !scopes.size}
    ...${{ busy, onClose }}
    onSubmit=${generate}
  >
    <${TextField}
      label="Name"
      name="name"
      hint="Where the key will be used, such as “shop server”"
      required
      maxlength="255"
      error=${error}
      value=${name}
      onInput=${setName}
    />
    <${Select}
      label="Expires"
      name="expires_at"
      options=${EXPIRIES}
      error=${error}
      value=${expiry}
      onInput=${setExpiry}
    />
    ${
      session.value.scopes === null &&
      html`<${Checkbox}
        label="Everything"
        hint="Every scope, also those of later releases"
        checked=${everything}
        onInput=${setEverything}
      />`
    }
    ${!everything && html`<${ScopeTable} scopes=${scopes} onChange=${setScopes} />`}
    <${ErrorNote} error=${error} fields=${["name", "expires_at"]} />
  <//>`;
}

function ScopeTable({ scopes, onChange }) {
  const toggle = (scope) => (on) => {
    const changed = new Set(scopes);
    changed[on ? "add" : "delete"](scope);
    onChange(changed);
  };
  const box = (resource, noun, verb) => {
    const scope = `${resource}:${verb}`;
    return html`<${Checkbox}
      label="${verb}"
      aria-label="${verb} ${noun}"
      checked=${scopes.has(scope)}
      disabled=${!can(scope)}
      onInput=${toggle(scope)}
    />`;
  };
  return html`<fieldset class="scopes">
    <legend>What it may do</legend>
    ${RESOURCES.map(
      ([resource, noun]) => html`<div class="scope-row">
        <span>${noun}</span>
        ${box(resource, noun, "read")}
        ${READ_ONLY.includes(resource) ? html`<span />` : box(resource, noun, "write")}
      </div>`,
    )}
  </fieldset>`;
}

function MadeDialog({ made, onClose }) {
  const url = `${location.origin}/api/short-links?accountId=${made.account_id}`;
  const footer = html`<${Button} kind="main" onClick=${onClose}>I have copied it<//>`;
  return html`<${Dialog} title="Your new key" wide ...${{ footer, onClose }}>
    <${Secret} label=${made.name} value=${made.key} />
    <${CodeBlock}
      title="Try it in a terminal"
      label="the curl line"
      text=${`curl -s "${url}" \\\n  -H "Authorization: Bearer ${made.key}"`}
    />
  <//>`;
}

function RevokeDialog({ apiKey: key, onClose, onDone }) {
  const count = key.descendants.length;
  const [younger, setYounger] = useState(count > 0);
  return html`<${ConfirmDeletion}
    title="Revoke “${key.name}”?"
    action="Revoke the key"
    path=${`/api/keys/${key.id}${younger ? "?descendants=true" : ""}`}
    done=${younger ? `“${key.name}” and the keys made with it are revoked` : `“${key.name}” is revoked`}
    ...${{ onClose, onDone }}
  >
    <p>
      Every program that uses <code>${key.prefix}…</code> is refused at once. This cannot be undone.
    </p>
    <p>
      ${
        key.last_used_at
          ? html`It was last used <${Time} at=${key.last_used_at} />.`
          : "It was never used."
      }
    </p>
    ${
      count > 0 &&
      html`<${Checkbox}
        label="Also revoke the ${format.count(count, "key")} made with it"
        hint="Otherwise they stay valid"
        checked=${younger}
        onInput=${setYounger}
      />`
    }
  <//>`;
}
