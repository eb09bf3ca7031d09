/** Settings, Members: who may use this account, and links with which others join. */

import { useCallback, useRef, useState } from "preact/hooks";
import { api, owned } from "console/core/api";
import { Select, TextField } from "console/core/fields";
import { format } from "console/core/format";
import { useAction, useLoad, useShortcut } from "console/core/hooks";
import { html } from "console/core/html";
import { Pagination, Table } from "console/core/lists";
import { Badge, Button, ErrorNote, Menu, Time } from "console/core/parts";
import { route } from "console/core/route";
import { can, session } from "console/core/session";
import { toast } from "console/core/toasts";
import { TagPicker } from "console/links/tags";
import { loadAll } from "console/parts/all";
import { Secret } from "console/parts/code";
import { ConfirmDeletion, Dialog } from "console/parts/dialog";
import { SettingsHeader } from "console/parts/settings";

const ROLES = [
  ["owner", "Owner: everything, also members and keys"],
  ["editor", "Editor: links, conversions, webhooks, domains, tags"],
  ["viewer", "Viewer: looks, changes nothing"],
];

/** The page. */
export default function Members() {
  const { page } = route.value.query;
  const mayWrite = can("members:write");
  const members = useLoad((signal) => api.get("/api/members", { page }, signal), [page]);
  const invitations = useLinks("/api/invitations", mayWrite);
  const resets = useLinks("/api/password-resets", mayWrite);
  const tags = useTagNames([...(members.data?.rows ?? []), ...(invitations.data?.rows ?? [])]);
  const [open, setOpen] = useState(null);
  const invite = useCallback(() => mayWrite && setOpen({ kind: "invite" }), [mayWrite]);
  useShortcut("c", "Invite somebody", invite);
  const dialog = {
    ...open,
    onClose: () => setOpen(null),
    onDone: () => {
      members.reload();
      invitations.reload();
      resets.reload();
    },
  };

  return html`
    <${SettingsHeader} title="Members" about="The people who may use this account.">
      ${mayWrite && html`<${Button} kind="main" icon="plus" onClick=${invite}>Invite<//>`}
    <//>
    <${Table} caption="Members" load=${members} columns=${memberColumns(mayWrite, tags, setOpen)} />
    <${Pagination} pagination=${members.data?.pagination} noun="member" />
    ${
      Boolean(invitations.data?.rows.length) &&
      html`
        <h2>Open invitations</h2>
        <${Table}
          caption="Open invitations"
          load=${invitations}
          columns=${invitationColumns(tags, setOpen)}
        />
      `
    }
    ${
      Boolean(resets.data?.rows.length) &&
      html`
        <h2>Open password resets</h2>
        <${Table} caption="Open password resets" load=${resets} columns=${resetColumns(setOpen)} />
      `
    }
    ${open?.kind === "invite" && html`<${InviteDialog} ...${dialog} />`}
    ${open?.kind === "role" && html`<${RoleDialog} ...${dialog} />`}
    ${open?.kind === "remove" && html`<${RemoveDialog} ...${dialog} />`}
    ${open?.kind === "reset" && html`<${ResetDialog} ...${dialog} />`}
    ${open?.kind === "withdraw" && html`<${WithdrawDialog} ...${dialog} />`}
  `;
}

/** Load open links, for those who may withdraw them. */
function useLinks(path, mayWrite) {
  return useLoad(
    (signal) => (mayWrite ? api.get(path, {}, signal) : Promise.resolve({ rows: [] })),
    [path, mayWrite],
  );
}

/** Load the names of tags by id, if one of `rows` is limited to tags. */
function useTagNames(rows) {
  const limited = can("tags:read") && rows.some(({ tags }) => tags.length > 0);
  const load = (signal) => (limited ? loadAll("/api/tags", signal) : Promise.resolve({ rows: [] }));
  const { data } = useLoad(load, [limited]);
  return new Map(data?.rows.map(({ id, name }) => [id, name]));
}

/** The column of the links that a member or an invitation is limited to. */
function limitColumn(names) {
  const named = (id) => names.get(id) ?? "a deleted tag";
  return {
    label: "Links",
    cell: ({ tags }) =>
      (tags.length > 0 && !names.size && format.count(tags.length, "tag")) ||
      tags.map(named).join(", ") ||
      "all",
  };
}

function memberColumns(mayWrite, tags, setOpen) {
  return [
    { label: "Name", wide: true, cell: (one) => html`<${Who} member=${one} />` },
    {
      label: "Role",
      cell: ({ role }) => html`<${Badge} kind=${role === "owner" ? "accent" : "quiet"}>${role}<//>`,
    },
    limitColumn(tags),
    {
      label: "Second factor",
      cell: ({ totp }) =>
        totp ? html`<${Badge} kind="good">on<//>` : html`<span class="faint">off</span>`,
    },
    { label: "Last seen", cell: (one) => html`<${Time} at=${one.last_seen_at} none="never" />` },
    { label: "Member since", cell: (one) => html`<${Time} at=${one.created_at} />` },
    mayWrite && {
      label: "Actions",
      actions: true,
      cell: (member) =>
        html`<${Menu}
          label="Actions for ${member.name || member.email}"
          items=${[
            {
              label: "Change the role or links",
              icon: "edit",
              run: () => setOpen({ kind: "role", member }),
            },
            {
              label: "Reset the password",
              icon: "key",
              run: () => setOpen({ kind: "reset", member }),
            },
            {
              label: "Remove",
              icon: "trash",
              kind: "danger",
              run: () => setOpen({ kind: "remove", member }),
            },
          ]}
        />`,
    },
  ].filter(Boolean);
}

function Who({ member }) {
  const own = member.person_id === session.value.person.id;
  return html`<span class="main-cell">
    <strong>${member.name || member.email}${own && html` <${Badge}>you<//>`}</strong>
    <span>${member.email}</span>
  </span>`;
}

function invitationColumns(tags, setOpen) {
  return [
    {
      label: "E-mail",
      wide: true,
      cell: (one) => html`<strong>${one.email ?? "Anyone with the link"}</strong>`,
    },
    { label: "Role", cell: ({ role }) => html`<${Badge}>${role}<//>` },
    limitColumn(tags),
    ...linkColumns("invitation", "/api/invitations", setOpen),
  ];
}

function resetColumns(setOpen) {
  return [
    { label: "E-mail", wide: true, cell: (one) => html`<strong>${one.email}</strong>` },
    ...linkColumns("password reset", "/api/password-resets", setOpen),
  ];
}

/** The columns that open links of every kind have. */
function linkColumns(noun, path, setOpen) {
  return [
    { label: "By", cell: (one) => one.created_by?.name ?? "–" },
    { label: "Ends", cell: (one) => html`<${Time} at=${one.expires_at} />` },
    {
      label: "Actions",
      actions: true,
      cell: (link) =>
        html`<${Button}
          kind="danger"
          label="Withdraw the ${noun} of ${link.email ?? "anyone"}"
          onClick=${() => setOpen({ kind: "withdraw", link, noun, path })}
        >
          Withdraw
        <//>`,
    },
  ];
}

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

function InviteDialog({ onClose, onDone }) {
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

function RoleDialog({ member, onClose, onDone }) {
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

function RemoveDialog({ member, onClose, onDone }) {
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

function ResetDialog({ member, onClose, onDone }) {
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

function WithdrawDialog({ link, noun, path, onClose, onDone }) {
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
