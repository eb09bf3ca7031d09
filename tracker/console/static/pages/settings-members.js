/** Settings, Members: who may use this account, and links with which others join. */

import { useCallback, useState } from "preact/hooks";
import { api } from "console/core/api";
import { format } from "console/core/format";
import { useLoad, useShortcut } from "console/core/hooks";
import { html } from "console/core/html";
import { Pagination, Table } from "console/core/lists";
import { Badge, Button, Menu, Time } from "console/core/parts";
import { route } from "console/core/route";
import { can, session } from "console/core/session";
import { loadAll } from "console/parts/all";
import { SettingsHeader } from "console/parts/settings";
import {
  InviteDialog,
  RoleDialog,
  RemoveDialog,
  ResetDialog,
  WithdrawDialog,
} from "console/members/dialogs";

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
