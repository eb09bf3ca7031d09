/** Tags: a list with the number of links of each; create, rename and delete them. */

import { useCallback, useState } from "preact/hooks";
import { api, owned } from "console/core/api";
import { TextField } from "console/core/fields";
import { format } from "console/core/format";
import { useAction, useLoad, useShortcut } from "console/core/hooks";
import { html } from "console/core/html";
import { Pagination, Table } from "console/core/lists";
import { Button, Empty, ErrorNote, Menu, PageHeader, Time } from "console/core/parts";
import { route } from "console/core/route";
import { can } from "console/core/session";
import { toast } from "console/core/toasts";
import { queryText } from "console/core/url";
import { ConfirmDeletion, Dialog } from "console/parts/dialog";

const PAGE_SIZE = 50;
const MAX_NAME_CHARACTERS = 190;

/**
 * The page. What is open (`new`, or a tag to rename or delete) is state; the page number is in the
 * URL.
 */
export default function Tags() {
  const { page } = route.value.query;
  const tags = useLoad(
    (signal) => api.get("/api/tags", { page, pageSize: PAGE_SIZE }, signal),
    [page],
  );
  const [open, setOpen] = useState(null);
  const mayWrite = can("tags:write");
  const create = useCallback(() => mayWrite && setOpen({ kind: "name" }), [mayWrite]);
  useShortcut("c", "Create a tag", create);
  const close = () => setOpen(null);
  const dialog = { ...open, onClose: close, onDone: tags.reload };

  return html`
    <${PageHeader}
      title="Tags"
      about="Group links by campaign, channel or partner. Links can be searched and counted by tag."
    >
      ${mayWrite && html`<${Button} kind="main" icon="plus" onClick=${create}>New tag<//>`}
    <//>
    <${Table}
      caption="Tags"
      load=${tags}
      columns=${columns(mayWrite, setOpen)}
      empty=${html`<${NoTags} create=${mayWrite && create} />`}
    />
    <${Pagination} pagination=${tags.data?.pagination} noun="tag" />
    ${open?.kind === "name" && html`<${NameDialog} ...${dialog} />`}
    ${open?.kind === "delete" && html`<${DeleteDialog} ...${dialog} />`}
  `;
}

function columns(mayWrite, setOpen) {
  return [
    {
      label: "Name",
      wide: true,
      cell: (tag) =>
        can("reports:read")
          ? html`<a href="/console/overview?tag=${tag.id}">${tag.name}</a>`
          : html`<strong>${tag.name}</strong>`,
    },
    { label: "Links", numeric: true, cell: (tag) => html`<${LinkCount} tag=${tag} />` },
    { label: "Created", cell: (tag) => html`<${Time} at=${tag.created_at} />` },
    mayWrite && {
      label: "Actions",
      actions: true,
      cell: (tag) =>
        html`<${Menu} label="Actions for ${tag.name}" items=${actions(tag, setOpen)} />`,
    },
  ].filter(Boolean);
}

function actions(tag, setOpen) {
  return [
    { label: "Rename", icon: "edit", run: () => setOpen({ kind: "name", tag }) },
    { label: "Show its links", icon: "search", href: linksOf(tag) },
    { label: "Delete", icon: "trash", kind: "danger", run: () => setOpen({ kind: "delete", tag }) },
  ];
}

function linksOf(tag) {
  return `/console/links${queryText({ tags: tag.id })}`;
}

function LinkCount({ tag }) {
  if (!tag.links) return html`<span class="faint">${format.number(tag.links ?? 0)}</span>`;
  return html`<a
    href=${linksOf(tag)}
    aria-label="${format.count(tag.links, "link")} with ${tag.name}"
  >
    ${format.number(tag.links)}
  </a>`;
}

function NoTags({ create }) {
  const action =
    create && html`<${Button} kind="main" icon="plus" onClick=${create}>Create your first tag<//>`;
  return html`<${Empty} title="No tags yet" action=${action}>
    <p>
      A tag puts links together that belong together: the links of <em>Spring sale</em>, of one <em>newsletter</em>,
      or of a <em>partner</em>.
    </p>
  <//>`;
}

/** The dialog to create a tag, or to rename `tag`. */
function NameDialog({ tag, onClose, onDone }) {
  const [name, setName] = useState(tag?.name ?? "");
  const [save, busy, error] = useAction(async () => {
    if (tag) await rename(tag, name, onDone);
    else await api.post("/api/tags", owned({ name }));
    onDone();
    onClose();
  });
  return html`<${Dialog}
    title=${tag ? "Rename the tag" : "New tag"}
    action=${tag ? "Rename" : "Create"}
    ...${{ busy, onClose }}
    onSubmit=${save}
  >
    <${TextField}
      label="Name"
      name="name"
      required
      maxlength=${MAX_NAME_CHARACTERS}
      error=${error}
      value=${name}
      onInput=${setName}
    />
    <${ErrorNote} error=${error} fields=${["name"]} />
  <//>`;
}

/** Rename a tag, and offer to undo that. */
async function rename(tag, name, onDone) {
  await api.patch(`/api/tags/${tag.id}`, { name });
  const undo = () => api.patch(`/api/tags/${tag.id}`, { name: tag.name }).then(onDone);
  toast(`“${tag.name}” is now “${name.trim()}”`, { action: { label: "Undo", run: undo } });
}

function DeleteDialog({ tag, onClose, onDone }) {
  return html`<${ConfirmDeletion}
    title="Delete “${tag.name}”?"
    action="Delete the tag"
    path="/api/tags/${tag.id}"
    done="“${tag.name}” is deleted"
    ...${{ onClose, onDone }}
  >
    <p>
      ${
        tag.links
          ? `${format.count(tag.links, "link loses", "links lose")} the tag.`
          : "No link has it."
      } Links keep working, and counted clicks stay. This cannot be undone.
    </p>
  <//>`;
}
