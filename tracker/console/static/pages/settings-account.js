/** Settings, Account: its name, and the rules against forged conversions. */

import {
  Button, ErrorNote, Skeleton, Switch, TextField, api, can, html, owned, session, toast, useAction, useLoad, useState,
} from "console/core";
import { CopyValue } from "console/parts/code";
import { SettingsHeader } from "console/parts/settings";

/** The rules that are switched on and off, with what they mean. */
const SWITCHES = [
  ["require_pbk", "Conversions need a postback key", "A click id alone is refused. Switch it on if conversions come only from servers that know the key."],
  ["no_negative_values", "No values below zero", "Refunds are then refused too."],
];

/** The page. */
export default function AccountSettings() {
  const account = useLoad((signal) => api.get("/api/account", {}, signal), []);
  return html`
    <${SettingsHeader} title="Account" />
    <${ErrorNote} error=${account.error} retry=${account.reload} />
    ${account.data ? html`<${Forms} account=${account.data} onChanged=${(changed) => account.set(() => changed)} />` : html`<${Skeleton} lines=${6} />`}`;
}

function Forms({ account, onChanged }) {
  const change = async (fields) => {
    const changed = await api.patch("/api/account", owned(fields));
    onChanged(changed);
    if (fields.name) session.value = { ...session.value, ...renamed(changed) };
    toast("Saved");
  };
  return html`<div class="columns">
    <${NameForm} account=${account} change=${change} />
    <${RulesForm} rules=${account.conversion_rules} change=${change} />
  </div>`;
}

/** Return the parts of the session that show the name of its account. */
function renamed({ id, name }) {
  return {
    account: { id, name },
    accounts: session.value.accounts.map((one) => (one.id === id ? { ...one, name } : one)),
  };
}

function NameForm({ account, change }) {
  const [name, setName] = useState(account.name);
  const [save, busy, error] = useAction(() => change({ name }));
  const submit = (event) => {
    event.preventDefault();
    save();
  };
  const fixed = !can("account:write");
  return html`<form class="card" onSubmit=${submit}>
    <h2>Name</h2>
    <${TextField} label="Name" name="name" required maxlength="255" disabled=${fixed} error=${error} value=${name} onInput=${setName} />
    <div class="field"><span class="label">Account id</span><${CopyValue} text=${account.id} label="the account id" /></div>
    <${ErrorNote} error=${error} fields=${["name"]} />
    ${!fixed && html`<div class="row end"><${Button} kind="main" type="submit" busy=${busy} disabled=${name.trim() === account.name}>Save<//></div>`}
  </form>`;
}

function RulesForm({ rules, change }) {
  const [set, busy, error] = useAction((fields) => change({ conversion_rules: fields }));
  const fixed = busy || !can("account:write");
  return html`<section class="card">
    <h2>Conversions that are accepted</h2>
    <p class="about">Anybody who sees a pixel can send a conversion. These rules refuse what does not fit, before it counts.</p>
    ${SWITCHES.map(([name, label, hint]) => html`<${Switch} ...${{ label, hint }} checked=${rules[name]} disabled=${fixed} onInput=${(on) => set({ [name]: on })} />`)}
    <${NumberRule} name="max_value" label="Highest value" hint="Empty: any value" value=${rules.max_value} ...${{ fixed, set, error }} />
    <${NumberRule} name="max_per_click" label="Conversions of one click" hint="For each event configuration; empty: any number" step="1" value=${rules.max_per_click} ...${{ fixed, set, error }} />
    <${ErrorNote} error=${error} fields=${["max_value", "max_per_click"]} />
  </section>`;
}

/** A rule with a number, saved when its button is pressed. An empty field switches the rule off. */
function NumberRule({ name, label, hint, value, step = "any", fixed, set, error }) {
  const [text, setText] = useState(value ?? "");
  const submit = (event) => {
    event.preventDefault();
    set({ [name]: text === "" ? null : Number(text) });
  };
  return html`<form class="number-rule" onSubmit=${submit}>
    <${TextField} type="number" min="0" ...${{ name, label, hint, step, error }} disabled=${fixed} value=${text} onInput=${setText} />
    <${Button} type="submit" disabled=${fixed || String(text) === String(value ?? "")}>Save<//>
  </form>`;
}
