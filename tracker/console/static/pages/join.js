/** The page behind a link of an invitation or a password reset. */

import { useEffect, useState } from "preact/hooks";
import { api } from "console/core/api";
import { CODE_FIELD, Checkbox, FormFields, namesOf, useFields } from "console/core/fields";
import { useAction, useLoad, useTitle } from "console/core/hooks";
import { html } from "console/core/html";
import { Button, ErrorNote, Skeleton } from "console/core/parts";
import { navigate } from "console/core/route";
import { session } from "console/core/session";
import { HOME } from "console/core/url";
import { ZoneList, ownZone } from "console/parts/zones";

const MIN_PASSWORD_CHARACTERS = 12;
const EMAIL = {
  name: "email",
  label: "Your e-mail",
  type: "email",
  autocomplete: "username",
  hint: "You sign in with it. No mail is sent.",
  required: true,
};
const NAME = { name: "name", label: "Your name", autocomplete: "name", required: true };
const NEW_PASSWORD = {
  name: "password",
  label: "New password",
  autocomplete: "new-password",
  minlength: MIN_PASSWORD_CHARACTERS,
  hint: `At least ${MIN_PASSWORD_CHARACTERS} characters. A few unrelated words are good.`,
  required: true,
};
const OWN_PASSWORD = {
  name: "password",
  label: "Your password",
  autocomplete: "current-password",
  hint: "You have one here already.",
  required: true,
};

/** What the first owner of an account says of it. */
const OF_ACCOUNT = [
  {
    name: "time_zone",
    label: "Time zone of the account",
    list: "time-zones",
    hint: "Its days and hours in reports, and all times here",
    required: true,
  },
  {
    name: "currency",
    label: "Currency of the account",
    placeholder: "EUR",
    maxlength: 3,
    hint: "Of all its money. Empty: you choose it later, in Settings",
  },
];

/**
 * The form of the link with `token`: a new password, or the existing one of a known person. An
 * invitation asks for a code only after the password was right.
 */
export default function JoinForm({ token }) {
  useTitle("Join");
  const preview = useLoad(
    () => (token ? api.post("/api/join/preview", { token }) : Promise.resolve(null)),
    [token],
  );
  if (preview.error?.code === "link_expired") return html`<${Gone} />`;
  if (preview.error) return html`<${ErrorNote} error=${preview.error} retry=${preview.reload} />`;
  if (preview.loading) return html`<div class="card"><${Skeleton} lines=${4} /></div>`;
  return preview.data ? html`<${Form} token=${token} ...${preview.data} />` : html`<${Missing} />`;
}

function Form({ token, kind, email, account, role, is_first: isFirst, ...person }) {
  const { has_password: known, needs_code: needsCode } = person;
  const isReset = kind === "password_reset";
  const isNew = isReset || !known;
  const choosesEmail = !email && !isReset;
  const { fields, set } = useFields({
    email: "",
    name: "",
    password: "",
    code: "",
    time_zone: ownZone(),
    currency: "",
  });
  const [visible, setVisible] = useState(false);
  const [asksCode, setAsksCode] = useState(needsCode);
  const first = [
    choosesEmail && { ...EMAIL, autofocus: true },
    !known && !isReset && { ...NAME, autofocus: !choosesEmail },
    {
      ...(isNew ? NEW_PASSWORD : OWN_PASSWORD),
      type: visible ? "text" : "password",
      autofocus: known || isReset,
    },
  ];
  const [join, busy, error] = useAction(async () => {
    const { name, password, code, time_zone, currency } = fields;
    const sent = {
      token,
      password,
      ...(choosesEmail && { email: fields.email }),
      ...(!known && !isReset && { name }),
      ...(asksCode && { code }),
      ...(isFirst && { time_zone, ...(currency && { currency: currency.toUpperCase() }) }),
    };
    session.value = await api.post("/api/join", sent);
    navigate(HOME, { replace: true });
  });
  useEffect(() => {
    if (error?.code === "code_required") setAsksCode(true);
  }, [error]);
  const shown = error?.code === "code_required" && !fields.code ? null : error;
  const submit = (event) => {
    event.preventDefault();
    join();
  };
  return html`<form class="card" onSubmit=${submit}>
    <div class="stack close">
      <h1>${isReset ? "Set a new password" : `Join ${account?.name}`}</h1>
      <p class="about">
        ${isReset ? email : choosesEmail ? `As ${role}.` : `As ${role}, with ${email}.`}
      </p>
    </div>
    ${!choosesEmail && html`<${HiddenEmail} value=${email} />`}
    <${FormFields} list=${first} ...${{ fields, set }} error=${shown} />
    <${Checkbox} label="Show the password" checked=${visible} onInput=${setVisible} />
    <${FormFields}
      list=${[asksCode && CODE_FIELD, ...(isFirst ? OF_ACCOUNT : [])]}
      ...${{ fields, set }}
      error=${shown}
    />
    ${isFirst && html`<${ZoneList} id="time-zones" />`}
    <${ErrorNote} error=${shown} fields=${namesOf([...first, CODE_FIELD, ...OF_ACCOUNT])} />
    <${Button} kind="main" type="submit" busy=${busy}>${isReset ? "Set and sign in" : "Join"}<//>
  </form>`;
}

/** The person's e-mail address, for the browser's password manager. */
function HiddenEmail({ value }) {
  return html`<input
    class="visually-hidden"
    type="email"
    autocomplete="username"
    value=${value}
    readonly
    tabindex="-1"
    aria-hidden="true"
  />`;
}

/** What is left when the link was used, withdrawn, or is too old. */
function Gone() {
  return html`<div class="card">
    <h1>This link no longer works</h1>
    <p>A link works once, and for 24 hours. Ask the person who gave it to you for a new one.</p>
    <a href="/console/sign-in">Sign in</a>
  </div>`;
}

/** What is left after a reload: the token is no longer in the address. */
function Missing() {
  return html`<div class="card">
    <h1>Open your link again</h1>
    <p>
      For your safety the address no longer has the secret of the link. Open it once more from where
      you got it.
    </p>
    <a href="/console/sign-in">Sign in</a>
  </div>`;
}
