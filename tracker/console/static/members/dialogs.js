/** Dialogs about members: invite, change, remove, reset, withdraw. */

import { useRef, useState } from "preact/hooks";
import { api, owned } from "console/core/api";
import { Select, TextField } from "console/core/fields";
import { useAction } from "console/core/hooks";
import { html } from "console/core/html";
import { Button, ErrorNote } from "console/core/parts";
import { toast } from "console/core/toasts";
import { TagPicker } from "console/links/tags";
import { Secret } from "console/parts/code";
import { ConfirmDeletion, Dialog } from "console/parts/dialog";

const ROLES = [
  ["owner", "Owner: everything, also members and keys"],
  ["editor", "Editor: links, conversions, webhooks, domains, tags"],
  ["viewer", "Viewer: looks, changes nothing"],
];

/** The choice of the tags whose links a member sees. Deleted ones are kept, though not shown. */
function Limit({ tags, setTags, typed }) {
  return html`
    <${TagPicker}
      label="Only links with one of these tags (none: all links)"
      ...${{ selected: tags, onChange: setTags, typed }}
    />
    ${tags.length > 0 && html`<${Button} onClick=${() => setTags([])}>All links<//>`}
  `;
}

export function InviteDialog({ onClose, onDone }) {
  const [email, setEmail] = useState("");
  const [role, setRole] = useState("editor");
  const [tags, setTags] = useState([]);
  const typed = useRef();
  const [made, setMade] = useState(null);
  const [invite, busy, error] = useAction(async () => {
    const limit = role === "owner" ? [] : await typed.current();
    setMade(await api.post("/api/invitations", owned({ email, role, tags: limit })));
    onDone();
  });
  if (made)
    return html`<${LinkDialog}
      title="Pass on this link"
      label="Invitation for ${email}"
      url=${made.url}
      onClose=${onClose}
    />`;
  return html`<${Dialog}
    title="Invite somebody"
    about="You get a link to pass on. No mail is sent."
    action="Make a link"
    ...${{ busy, onClose }}
    onSubmit=${invite}
  >
    <${TextField}
      label="E-mail"
      name="email"
      type="email"
      required
      error=${error}
      value=${email}
      onInput=${setEmail}
    />
    <${Select}
      label="Role"
      name="role"
      options=${ROLES}
      error=${error}
      value=${role}
      onInput=${setRole}
    />
    ${role !== "owner" && html`<${Limit} ...${{ tags, setTags, typed }} />`}
    <${ErrorNote} error=${error} fields=${["email", "role"]} />
  <//>`;
}

/** The dialog with a link that works once. */
function LinkDialog({ title, label, url, onClose }) {
  const footer = html`<${Button} kind="main" onClick=${onClose}>I have copied it<//>`;
  return html`<${Dialog}
    title=${title}
    about="It works once, for 24 hours. Whoever opens it first gets in."
    wide
    ...${{ footer, onClose }}
  >
    <${Secret} label=${label} value=${url} />
  <//>`;
}

export function RoleDialog({ member, onClose, onDone }) {
  const [role, setRole] = useState(member.role);
  const [tags, setTags] = useState(member.tags);
  const typed = useRef();
  const [save, busy, error] = useAction(async () => {
    const limit = role === "owner" ? [] : await typed.current();
    await api.patch(`/api/members/${member.id}`, { role, tags: limit });
    toast(
      role === member.role
        ? `The links of ${member.name || member.email} are set`
        : `${member.name || member.email} is now ${role}`,
    );
    onDone();
    onClose();
  });
  return html`<${Dialog}
    title="Role of ${member.name || member.email}"
    about="They are signed out, and have the new role from their next sign-in."
    action="Change"
    ...${{ busy, onClose }}
    onSubmit=${save}
  >
    <${Select} label="Role" name="role" options=${ROLES} value=${role} onInput=${setRole} />
    ${role !== "owner" && html`<${Limit} ...${{ tags, setTags, typed }} />`}
    <${ErrorNote} error=${error} />
  <//>`;
}

export function RemoveDialog({ member, onClose, onDone }) {
  return html`<${ConfirmDeletion}
    title="Remove ${member.name || member.email}?"
    action="Remove"
    path="/api/members/${member.id}"
    done="${member.name || member.email} is removed"
    ...${{ onClose, onDone }}
  >
    <p>
      They are signed out of this account at once. Links that they made stop working: invitations
      and password resets. What else they made stays, also their API keys: revoke those they know.
    </p>
  <//>`;
}

export function ResetDialog({ member, onClose, onDone }) {
  const [made, setMade] = useState(null);
  const [reset, busy, error] = useAction(async () => {
    setMade(await api.post(`/api/members/${member.id}/password-reset`));
    onDone();
  });
  if (made)
    return html`<${LinkDialog}
      title="Pass on this link"
      label="New password for ${member.email}"
      url=${made.url}
      onClose=${onClose}
    />`;
  return html`<${Dialog}
    title="Reset the password of ${member.name || member.email}"
    action="Make a link"
    ...${{ busy, onClose }}
    onSubmit=${reset}
  >
    <p>
      You get a link with which they set a new password. It ends all their sessions when it is used.
    </p>
    <${ErrorNote} error=${error} />
  <//>`;
}

export function WithdrawDialog({ link, noun, path, onClose, onDone }) {
  return html`<${ConfirmDeletion}
    title="Withdraw the ${noun}?"
    action="Withdraw"
    path="${path}/${link.id}"
    done="The ${noun} is withdrawn"
    ...${{ onClose, onDone }}
  >
    <p>The link of ${link.email ?? `the ${noun}`} stops working.</p>
  <//>`;
}
