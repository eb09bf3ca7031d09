/** Settings, Account: its name, time zone and currency, and the rules against forged conversions. */

import { useState } from "preact/hooks";
import { api, owned } from "console/core/api";
import { Switch, TextField } from "console/core/fields";
import { format } from "console/core/format";
import { useAction, useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { Button, ErrorNote, Skeleton } from "console/core/parts";
import { can, session } from "console/core/session";
import { toast } from "console/core/toasts";
import { CopyValue } from "console/parts/code";
import { SettingsHeader } from "console/parts/settings";
import { ZoneList } from "console/parts/zones";
import { stepText } from "console/reports/words";

/** The rules that are switched on and off, with what they mean. */
const SWITCHES = [
  [
    "require_pbk",
    "Conversions need a postback key",
    "A click id alone is refused. Switch it on if conversions come only from servers that know the key.",
  ],
  ["no_negative_values", "No values below zero", "Refunds are then refused too."],
];

/** The page. */
export default function AccountSettings() {
  const account = useLoad((signal) => api.get("/api/account", {}, signal), []);
  return html`
    <${SettingsHeader} title="Account" />
    <${ErrorNote} error=${account.error} retry=${account.reload} />
    ${
      account.data
        ? html`<${Forms}
          account=${account.data}
          onChanged=${(changed) => account.set(() => changed)}
        />`
        : html`<${Skeleton} lines=${6} />`
    }
  `;
}

function Forms({ account, onChanged }) {
  const change = async (fields) => {
    const changed = await api.patch("/api/account", owned(fields));
    onChanged(changed);
    remember(changed);
    toast("Saved");
  };
  return html`<div class="columns">
    <${NameForm} account=${account} change=${change} />
    <${TimeZoneForm} account=${account} change=${change} />
    <${OptionalField}
      key=${`currency ${account.currency}`}
      title="Currency"
      name="currency"
      hint="Of all its money, such as EUR. It stays once conversions have money in it. Empty: units of your own"
      maxlength="3"
      text=${account.currency ?? ""}
      change=${(text) => change({ currency: text.toUpperCase() })}
    />
    <${OptionalField}
      key=${`cost ${account.cost_parameter}`}
      title="Cost of a click"
      name="cost_parameter"
      hint="The parameter of a visitor's address that says what the click cost. Empty: none says it"
      maxlength="64"
      text=${account.cost_parameter ?? ""}
      change=${(text) => change({ cost_parameter: text || null })}
    />
    <${OptionalField}
      key=${`own ${account.parameters}`}
      title="Own parameters"
      name="parameters"
      hint="Up to ten query parameters, such as sub1, placement. Reports count by them from then on"
      text=${account.parameters.join(", ")}
      change=${(text) => change({ parameters: text.split(/[\s,]+/).filter(Boolean) })}
    />
    <${OptionalField}
      key=${`origins ${account.origins}`}
      title="Pages that report clicks"
      name="origins"
      hint="Their origins, such as https://shop.example, *.example.com. Your own domains need none"
      text=${account.origins.join(", ")}
      change=${(text) => change({ origins: text.split(/[\s,]+/).filter(Boolean) })}
    />
    <${RulesForm} rules=${account.conversion_rules} change=${change} />
  </div>`;
}

/** Show the account as it is now in the session. */
function remember({ id, name, time_zone, currency, parameters }) {
  const accounts = session.value.accounts.map((one) => (one.id === id ? { ...one, name } : one));
  const account = { ...session.value.account, name, time_zone, currency, parameters };
  session.value = { ...session.value, account, accounts };
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
    <${TextField}
      label="Name"
      name="name"
      required
      maxlength="255"
      disabled=${fixed}
      error=${error}
      value=${name}
      onInput=${setName}
    />
    <div class="field">
      <span class="label">Account id</span>
      <${CopyValue} text=${account.id} label="the account id" />
    </div>
    <${ErrorNote} error=${error} fields=${["name"]} />
    ${
      !fixed &&
      html`<div class="row end">
        <${Button} kind="main" type="submit" busy=${busy} disabled=${name.trim() === account.name}>
          Save
        <//>
      </div>`
    }
  </form>`;
}

function TimeZoneForm({ account, change }) {
  const current = account.time_zone_change?.time_zone ?? account.time_zone;
  const [zone, setZone] = useState(current);
  const [save, busy, error] = useAction((time_zone) => change({ time_zone }));
  const submit = (event) => {
    event.preventDefault();
    save(zone.trim());
  };
  const keep = () => {
    setZone(account.time_zone);
    save(account.time_zone);
  };
  const fixed = !can("account:write");
  return html`<form class="card" onSubmit=${submit}>
    <h2>Time zone</h2>
    <${TextField}
      label="Time zone"
      name="time_zone"
      list="time-zones"
      hint="Days and hours in reports are those of this zone, such as Europe/Berlin, from the next day on. Type a city."
      required
      disabled=${fixed}
      error=${error}
      value=${zone}
      onInput=${setZone}
    />
    <${ZoneList} id="time-zones" />
    <${ErrorNote} error=${error} fields=${["time_zone"]} />
    ${account.time_zone_change && html`<${ZoneChange} account=${account} />`}
    ${
      !fixed &&
      html`<div class="row end">
        ${
          account.time_zone_change &&
          html`<${Button} busy=${busy} onClick=${keep}>
            Keep ${account.time_zone}
          <//>`
        }
        <${Button} kind="main" type="submit" busy=${busy} disabled=${zone.trim() === current}>
          Save
        <//>
      </div>`
    }
  </form>`;
}

/** A field that may be empty, with a button. `text` is what the account has. */
function OptionalField({ title, name, text, change, ...field }) {
  const [typed, setTyped] = useState(text);
  const [save, busy, error] = useAction(() => change(typed.trim()));
  const submit = (event) => {
    event.preventDefault();
    save();
  };
  const fixed = !can("account:write");
  return html`<form class="card" onSubmit=${submit}>
    <h2>${title}</h2>
    <${TextField}
      label=${title}
      ...${{ name, error, ...field }}
      disabled=${fixed}
      value=${typed}
      onInput=${setTyped}
    />
    <${ErrorNote} error=${error} fields=${[name]} />
    ${
      !fixed &&
      html`<div class="row end">
        <${Button} kind="main" type="submit" busy=${busy} disabled=${typed.trim() === text}>
          Save
        <//>
      </div>`
    }
  </form>`;
}

function ZoneChange({ account: { time_zone, time_zone_change: change } }) {
  return html`<p role="status">
    Days are those of ${change.time_zone} from ${stepText(change.first_day)} on. That day has
    ${format.count(change.hours, "hour")}; earlier ones stay in ${time_zone}.
  </p>`;
}

function RulesForm({ rules, change }) {
  const [set, busy, error] = useAction((fields) => change({ conversion_rules: fields }));
  const fixed = busy || !can("account:write");
  return html`<section class="card">
    <h2>Conversions that are accepted</h2>
    <p class="about">
      Anybody who sees a pixel can send a conversion. These rules refuse what does not fit, before
      it counts.
    </p>
    ${SWITCHES.map(
      ([name, label, hint]) => html`<${Switch}
        ...${{ label, hint }}
        checked=${rules[name]}
        disabled=${fixed}
        onInput=${(on) => set({ [name]: on })}
      />`,
    )}
    <${NumberRule}
      name="max_value"
      label="Highest value"
      hint="Empty: any value"
      value=${rules.max_value}
      ...${{ fixed, set, error }}
    />
    <${NumberRule}
      name="max_per_click"
      label="Conversions of one click"
      hint="For each event configuration; more are listed as refused. Empty: any number"
      step="1"
      value=${rules.max_per_click}
      ...${{ fixed, set, error }}
    />
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
    <${TextField}
      type="number"
      min="0"
      ...${{ name, label, hint, step, error }}
      disabled=${fixed}
      value=${text}
      onInput=${setText}
    />
    <${Button} type="submit" disabled=${fixed || String(text) === String(value ?? "")}>Save<//>
  </form>`;
}
