/** Settings, Security: one's own name, password, second factor and sessions. */

import { useState } from "preact/hooks";
import { api } from "console/core/api";
import { CODE_FIELD, FormFields, TextField } from "console/core/fields";
import { useAction, useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { Table } from "console/core/lists";
import { Badge, Button, ErrorNote, Time } from "console/core/parts";
import { session } from "console/core/session";
import { toast } from "console/core/toasts";
import { CodeBlock, CopyValue } from "console/parts/code";
import { ConfirmDeletion, Dialog } from "console/parts/dialog";
import { SettingsHeader } from "console/parts/settings";

const MIN_PASSWORD_CHARACTERS = 12;

/** The page. It is about the person, whatever the account. */
export default function Security() {
  const sessions = useLoad((signal) => api.get("/api/sessions", {}, signal), []);
  const [ending, setEnding] = useState(false);
  const others = (sessions.data?.rows ?? []).filter((one) => !one.current);
  return html`
    <${SettingsHeader}
      title="Security"
      about="You, ${session.value.person.email}, in every account."
    />
    <div class="columns">
      <div class="stack"><${NameForm} /><${TotpCard} onChanged=${sessions.reload} /></div>
      <${PasswordForm} onChanged=${sessions.reload} />
    </div>
    <header class="row between">
      <h2>Your sessions</h2>
      ${
        Boolean(others.length) &&
        html`<${Button} kind="danger" onClick=${() => setEnding(true)}>
          End all others
        <//>`
      }
    </header>
    <${Table} caption="Your sessions" load=${sessions} columns=${sessionColumns(sessions.reload)} />
    ${ending && html`<${EndDialog} onClose=${() => setEnding(false)} onDone=${sessions.reload} />`}
  `;
}

function NameForm() {
  const [name, setName] = useState(session.value.person.name);
  const [save, busy, error] = useAction(async () => {
    session.value = await api.patch("/api/session/person", { name });
    toast("Saved");
  });
  const submit = (event) => {
    event.preventDefault();
    save();
  };
  return html`<form class="card" onSubmit=${submit}>
    <h2>Name</h2>
    <${TextField}
      label="Your name"
      name="name"
      autocomplete="name"
      required
      maxlength="255"
      error=${error}
      value=${name}
      onInput=${setName}
    />
    <${ErrorNote} error=${error} fields=${["name"]} />
    <div class="row end">
      <${Button}
        kind="main"
        type="submit"
        busy=${busy}
        disabled=${name.trim() === session.value.person.name}
      >
        Save
      <//>
    </div>
  </form>`;
}

function PasswordForm({ onChanged }) {
  const empty = { current_password: "", new_password: "" };
  const [fields, setFields] = useState(empty);
  const set = (name) => (value) => setFields((old) => ({ ...old, [name]: value }));
  const [change, busy, error] = useAction(async () => {
    session.value = await api.post("/api/session/password", fields);
    setFields(empty);
    toast("The password is changed; your other sessions have ended");
    onChanged();
  });
  const submit = (event) => {
    event.preventDefault();
    change();
  };
  return html`<form class="card" onSubmit=${submit}>
    <h2>Password</h2>
    <input
      class="visually-hidden"
      type="email"
      autocomplete="username"
      value=${session.value.person.email}
      readonly
      tabindex="-1"
      aria-hidden="true"
    />
    <${TextField}
      label="Current password"
      name="current_password"
      type="password"
      autocomplete="current-password"
      required
      error=${error}
      value=${fields.current_password}
      onInput=${set("current_password")}
    />
    <${TextField}
      label="New password"
      name="new_password"
      type="password"
      autocomplete="new-password"
      required
      minlength=${MIN_PASSWORD_CHARACTERS}
      hint="At least ${MIN_PASSWORD_CHARACTERS} characters. A few unrelated words are good."
      error=${error}
      value=${fields.new_password}
      onInput=${set("new_password")}
    />
    <${ErrorNote} error=${error} fields=${["current_password", "new_password"]} />
    <div class="row end"><${Button} kind="main" type="submit" busy=${busy}>Change<//></div>
  </form>`;
}

function TotpCard({ onChanged }) {
  const [open, setOpen] = useState("");
  const on = session.value.person.totp;
  const close = () => setOpen("");
  return html`<section class="card">
    <header class="row between">
      <h2>Second factor</h2>
      ${on ? html`<${Badge} kind="good">on<//>` : html`<${Badge}>off<//>`}
    </header>
    <p class="about">
      A code of six digits from an authenticator app, besides the password, whenever you sign in.
    </p>
    <div class="row end">
      ${
        on
          ? html`<${Button} kind="danger" onClick=${() => setOpen("off")}>Switch off<//>`
          : html`<${Button} kind="main" onClick=${() => setOpen("on")}>Set up<//>`
      }
    </div>
    ${open === "on" && html`<${SetUpDialog} onClose=${close} onDone=${onChanged} />`}
    ${open === "off" && html`<${SwitchOffDialog} onClose=${close} onDone=${onChanged} />`}
  </section>`;
}

/** The three steps to a second factor: the password, the code of the app, the recovery codes. */
function SetUpDialog({ onClose, onDone }) {
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const [begun, setBegun] = useState(null);
  const [codes, setCodes] = useState(null);
  const [next, busy, error] = useAction(async () => {
    if (!begun) setBegun(await api.post("/api/session/totp", { password }));
    else setCodes((await api.patch("/api/session/totp", { code })).recovery_codes);
  });
  const finish = () => {
    const { person } = session.value;
    session.value = { ...session.value, person: { ...person, totp: true } };
    onClose();
    onDone();
  };
  if (codes) return html`<${RecoveryCodes} codes=${codes} onClose=${finish} />`;
  return html`<${Dialog}
    key=${begun ? "code" : "password"}
    title="Set up a second factor"
    action=${begun ? "Switch on" : "Continue"}
    ...${{ busy, onClose }}
    onSubmit=${next}
  >
    ${
      begun
        ? html`
          <p>Scan this with an authenticator app, then type the code that it shows.</p>
          <div class="qr">
            <img
              src="data:image/svg+xml,${encodeURIComponent(begun.qr_svg)}"
              alt="QR code of the secret"
            />
          </div>
          <p class="hint">
            Or type the secret: <${CopyValue} text=${begun.secret} label="the secret" />
          </p>
          <${TextField}
            label="Code"
            name="code"
            inputmode="numeric"
            autocomplete="one-time-code"
            required
            error=${error}
            value=${code}
            onInput=${setCode}
          />
        `
        : html`<${TextField}
          label="Your password"
          name="password"
          type="password"
          autocomplete="current-password"
          required
          error=${error}
          value=${password}
          onInput=${setPassword}
        />`
    }
    <${ErrorNote} error=${error} fields=${["code", "password"]} />
  <//>`;
}

function RecoveryCodes({ codes, onClose }) {
  const footer = html`<${Button} kind="main" onClick=${onClose}>I have kept them<//>`;
  return html`<${Dialog}
    title="The second factor is on"
    about="Each of these codes signs you in once, if you lose the app. They are shown only now. Your other sessions have ended."
    ...${{ footer, onClose }}
  >
    <${CodeBlock} text=${codes.join("\n")} label="the recovery codes" />
  <//>`;
}

function SwitchOffDialog({ onClose, onDone }) {
  const [fields, setFields] = useState({ password: "", code: "" });
  const set = (name) => (value) => setFields((old) => ({ ...old, [name]: value }));
  const [off, busy, error] = useAction(async () => {
    session.value = await api.post("/api/session/totp/disable", fields);
    toast("The second factor is off; your other sessions have ended");
    onClose();
    onDone();
  });
  const footer = html`
    <${Button} disabled=${busy} onClick=${onClose}>Cancel<//>
    <${Button} kind="main danger" type="submit" busy=${busy}>Switch off<//>
  `;
  return html`<${Dialog}
    title="Switch the second factor off?"
    ...${{ footer, busy, onClose }}
    onSubmit=${off}
  >
    <${TextField}
      label="Your password"
      name="password"
      type="password"
      autocomplete="current-password"
      required
      error=${error}
      value=${fields.password}
      onInput=${set("password")}
    />
    <${FormFields} list=${[CODE_FIELD]} ...${{ fields, set, error }} />
    <${ErrorNote} error=${error} fields=${["password", "code"]} />
  <//>`;
}

function sessionColumns(reload) {
  return [
    {
      label: "Browser",
      wide: true,
      cell: (one) =>
        html`<span class="main-cell">
          <strong>
            ${browserOf(one.user_agent)}
            ${one.current && html` <${Badge} kind="accent">this one<//>`}
          </strong>
          <span>${one.address}</span>
        </span>`,
    },
    { label: "Last seen", cell: (one) => html`<${Time} at=${one.last_seen_at} />` },
    { label: "Signed in", cell: (one) => html`<${Time} at=${one.created_at} />` },
    {
      label: "Actions",
      actions: true,
      cell: (one) => !one.current && html`<${EndButton} one=${one} reload=${reload} />`,
    },
  ];
}

function EndButton({ one, reload }) {
  const [end, busy] = useAction(async () => {
    await api.delete(`/api/sessions/${one.id}`);
    toast("The session has ended");
    reload();
  });
  return html`<${Button}
    kind="danger"
    label="End the session of ${browserOf(one.user_agent)}"
    busy=${busy}
    onClick=${end}
  >
    End
  <//>`;
}

function EndDialog({ onClose, onDone }) {
  return html`<${ConfirmDeletion}
    title="End all other sessions?"
    action="End them"
    path="/api/sessions"
    done="Your other sessions have ended"
    ...${{ onClose, onDone }}
  >
    <p>You stay signed in here, and nowhere else.</p>
  <//>`;
}

/** Return the browser and system in a user agent, as far as its text says them. */
function browserOf(agent) {
  const browser = /(Firefox|Edg|OPR|Chrome|Safari)\//.exec(agent)?.[1] ?? "Unknown browser";
  const system = /(Windows|Android|iPhone|iPad|Mac OS X|Linux)/.exec(agent)?.[1];
  const name = { Edg: "Edge", OPR: "Opera" }[browser] ?? browser;
  return system ? `${name} on ${system}` : name;
}
