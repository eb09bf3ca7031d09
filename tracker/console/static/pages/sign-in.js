/** Signing in. */

import { useEffect, useState } from "preact/hooks";
import { api } from "console/core/api";
import { CODE_FIELD, FormFields, useFields } from "console/core/fields";
import { useAction, useTitle } from "console/core/hooks";
import { html } from "console/core/html";
import { Button, ErrorNote } from "console/core/parts";
import { navigate, route } from "console/core/route";
import { session, sessionEnded } from "console/core/session";
import { nextPage } from "console/core/url";
import { Outside } from "console/parts/frame";

const FIELDS = [
  {
    name: "email",
    label: "E-mail",
    type: "email",
    autocomplete: "username",
    required: true,
    autofocus: true,
  },
  {
    name: "password",
    label: "Password",
    type: "password",
    autocomplete: "current-password",
    required: true,
  },
];
const CODE = { ...CODE_FIELD, autofocus: true };

/** The page. It asks for a code only after the password was right. */
export default function SignIn() {
  useTitle("Sign in");
  const { fields, set } = useFields({ email: "", password: "", code: "" });
  const [asksCode, setAsksCode] = useState(false);
  const [signIn, busy, error] = useAction(async () => {
    const { email, password } = fields;
    session.value = await api.post("/api/sign-in", asksCode ? fields : { email, password });
    sessionEnded.value = false;
    navigate(nextPage(route.value.query.next), { replace: true });
  });
  useEffect(() => {
    if (session.peek()) navigate(nextPage(route.value.query.next), { replace: true });
  }, []);
  useEffect(() => {
    if (error?.code === "code_required") setAsksCode(true);
  }, [error]);
  const submit = (event) => {
    event.preventDefault();
    signIn();
  };
  const shown = error?.code === "code_required" && !fields.code ? null : error;
  return html`<${Outside}>
    <form class="card" onSubmit=${submit}>
      <h1>Sign in</h1>
      ${
        sessionEnded.value &&
        !shown &&
        html`<div class="note" role="status">
          <p>
            Your session has ended. Sign in again to go on. Drafts of links and webhooks are kept.
          </p>
        </div>`
      }
      <${FormFields} list=${asksCode ? [...FIELDS, CODE] : FIELDS} ...${{ fields, set }} />
      <${ErrorNote} error=${shown} />
      <${Button} kind="main" type="submit" busy=${busy}>Sign in<//>
      <p class="hint">
        No account yet, or the password forgotten? Ask an owner of your account for a link.
      </p>
    </form>
  <//>`;
}
