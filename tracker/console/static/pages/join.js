/** The page behind a link of an invitation or a password reset. */

import { useEffect, useState } from "preact/hooks";
import { api } from "console/core/api";
import { Checkbox, TextField } from "console/core/fields";
import { useAction, useLoad, useTitle } from "console/core/hooks";
import { html } from "console/core/html";
import { Button, ErrorNote, Skeleton } from "console/core/parts";
import { navigate } from "console/core/route";
import { session } from "console/core/session";
import { HOME } from "console/core/url";

const MIN_PASSWORD_CHARACTERS = 12;

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

function Form({ token, kind, email, account, role, has_password: known, needs_code: needsCode }) {
  const isReset = kind === "password_reset";
  const isNew = isReset || !known;
  const choosesEmail = !email && !isReset;
  const [fields, setFields] = useState({ email: "", name: "", password: "", code: "" });
  const [visible, setVisible] = useState(false);
  const [asksCode, setAsksCode] = useState(needsCode);
  const set = (name) => (value) => setFields((old) => ({ ...old, [name]: value }));
  const [join, busy, error] = useAction(async () => {
    const { name, password, code } = fields;
    const sent = {
      token,
      password,
      ...(choosesEmail && { email: fields.email }),
      ...(!known && !isReset && { name }),
      ...(asksCode && { code }),
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
  const password = isNew
    ? {
        label: "New password",
        autocomplete: "new-password",
        minlength: MIN_PASSWORD_CHARACTERS,
        hint: `At least ${MIN_PASSWORD_CHARACTERS} characters. A few unrelated words are good.`,
      }
    : {
        label: "Your password",
        autocomplete: "current-password",
        hint: "You have one here already.",
      };
  return html`<form class="card" onSubmit=${submit}>
    <div class="stack close">
      <h1>${isReset ? "Set a new password" : `Join ${account?.name}`}</h1>
      <p class="about">
        ${isReset ? email : choosesEmail ? `As ${role}.` : `As ${role}, with ${email}.`}
      </p>
    </div>
    ${
      choosesEmail
        ? html`<${TextField}
          label="Your e-mail"
          name="email"
          type="email"
          autocomplete="username"
          hint="You sign in with it. No mail is sent."
          required
          autofocus
          error=${shown}
          value=${fields.email}
          onInput=${set("email")}
        />`
        : html`<input
          class="visually-hidden"
          type="email"
          autocomplete="username"
          value=${email}
          readonly
          tabindex="-1"
          aria-hidden="true"
        />`
    }
    ${
      !known &&
      !isReset &&
      html`<${TextField}
        label="Your name"
        name="name"
        autocomplete="name"
        required
        autofocus=${!choosesEmail}
        error=${shown}
        value=${fields.name}
        onInput=${set("name")}
      />`
    }
    <${TextField}
      ...${password}
      name="password"
      type=${visible ? "text" : "password"}
      required
      autofocus=${known || isReset}
      error=${shown}
      value=${fields.password}
      onInput=${set("password")}
    />
    <${Checkbox} label="Show the password" checked=${visible} onInput=${setVisible} />
    ${
      asksCode &&
      html`<${TextField}
        label="Code"
        name="code"
        hint="From your authenticator, or a recovery code"
        autocomplete="one-time-code"
        required
        error=${shown}
        value=${fields.code}
        onInput=${set("code")}
      />`
    }
    <${ErrorNote} error=${shown} fields=${["email", "name", "password", "code"]} />
    <${Button} kind="main" type="submit" busy=${busy}>${isReset ? "Set and sign in" : "Join"}<//>
  </form>`;
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
