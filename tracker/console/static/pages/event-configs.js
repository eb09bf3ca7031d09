/** Event configurations: what conversions are and pay, with snippets to report them. */

import { useCallback, useEffect, useState } from "preact/hooks";
import { api } from "console/core/api";
import { format } from "console/core/format";
import { useLoad, useShortcut } from "console/core/hooks";
import { html } from "console/core/html";
import { Pagination, Table } from "console/core/lists";
import { Badge, Button, Empty, Menu, PageHeader, Time, lazy } from "console/core/parts";
import { route, setQuery } from "console/core/route";
import { can } from "console/core/session";
import { toast } from "console/core/toasts";
import { loadAll } from "console/parts/all";
import { CopyValue } from "console/parts/code";
import { ConfirmDeletion } from "console/parts/dialog";
import { UnknownWords } from "console/conversions/unknown-words";
import { ConfigDialog } from "console/conversions/config-dialog";

const SnippetsDialog = lazy("console/conversions/snippets-dialog", "SnippetsDialog");

/** The page. */
export default function EventConfigs() {
  const { page } = route.value.query;
  const configs = useLoad((signal) => api.get("/api/event-configs", { page }, signal), [page]);
  const [open, setOpen] = useState(null);
  const mayWrite = can("event_configs:write");
  const create = useCallback(() => mayWrite && setOpen({ kind: "form" }), [mayWrite]);
  useShortcut("c", "Create an event configuration", create);
  useNamedParameter(mayWrite, setOpen);
  const dialog = { ...open, onClose: () => setOpen(null), onDone: configs.reload };
  return html`
    <${PageHeader}
      title="Event configurations"
      about="What a conversion is, what it pays, and how it is reported."
    >
      ${
        mayWrite &&
        html`<${Button} kind="main" icon="plus" onClick=${create}>New event configuration<//>`
      }
    <//>
    <${UnknownWords} onMapped=${configs.reload} />
    <${Table}
      caption="Event configurations"
      load=${configs}
      columns=${columns(mayWrite, setOpen, configs.reload)}
      empty=${html`<${NoConfigs} create=${mayWrite && create} />`}
    />
    <${Pagination} pagination=${configs.data?.pagination} noun="event configuration" />
    ${
      open?.kind === "form" &&
      html`<${ConfigDialog}
        ...${dialog}
        onCreated=${(config) => setOpen({ kind: "snippets", config })}
      />`
    }
    ${open?.kind === "snippets" && html`<${SnippetsDialog} ...${dialog} />`}
    ${open?.kind === "archive" && html`<${ArchiveDialog} ...${dialog} />`}
  `;
}

/** Open the form of the configuration that the address names, with a name to add to it. */
function useNamedParameter(mayWrite, setOpen) {
  const { edit, name, parameter } = route.value.query;
  const named = useLoad(
    (signal) =>
      edit && mayWrite ? loadAll("/api/event-configs", signal) : Promise.resolve({ rows: [] }),
    [edit],
  );
  const config = named.data?.rows.find(({ id }) => id === edit);
  useEffect(() => {
    if (!config) return;
    setOpen({ kind: "form", config, added: { [name]: parameter } });
    setQuery({ edit: null, name: null, parameter: null });
  }, [config]);
}

function columns(mayWrite, setOpen, reload) {
  const setActive = (config, active) => () =>
    api
      .patch(`/api/event-configs/${config.id}`, { active })
      .then(reload, (error) => toast(error.message, { kind: "bad" }));
  return [
    { label: "Name", wide: true, cell: (config) => html`<strong>${config.name}</strong>` },
    { label: "Pays", cell: (config) => payoutText(config) },
    {
      label: "Postback key",
      cell: ({ pbk }) =>
        mayWrite
          ? html`<${CopyValue} text=${pbk} label="the postback key" />`
          : html`<span class="mono">${pbk}</span>`,
    },
    {
      label: "State",
      cell: ({ active }) =>
        active ? html`<${Badge} kind="good">active<//>` : html`<${Badge} kind="warning">paused<//>`,
    },
    { label: "Created", cell: (config) => html`<${Time} at=${config.created_at} />` },
    {
      label: "Actions",
      actions: true,
      cell: (config) => html`<span class="row end">
        ${
          mayWrite &&
          html`<${Button}
            label="Snippets of ${config.name}"
            onClick=${() => setOpen({ kind: "snippets", config })}
          >
            Snippets
          <//>`
        }
        <${Menu}
          label="Actions for ${config.name}"
          items=${[
            can("reports:read") && {
              label: "Its report",
              icon: "chart",
              href: `/console/overview?event=${config.id}&measure=conversions`,
            },
            {
              label: "Its conversions",
              icon: "search",
              href: `/console/conversions?event=${config.id}`,
            },
            mayWrite && {
              label: "Edit",
              icon: "edit",
              run: () => setOpen({ kind: "form", config }),
            },
            mayWrite &&
              (config.active
                ? { label: "Pause", run: setActive(config, false) }
                : { label: "Activate", icon: "check", run: setActive(config, true) }),
            mayWrite && {
              label: "Archive",
              icon: "archive",
              kind: "danger",
              run: () => setOpen({ kind: "archive", config }),
            },
          ]}
        />
      </span>`,
    },
  ];
}

function payoutText({ payout_type: type, payout }) {
  return type === "RevShare"
    ? `${format.number(payout)} % of the value`
    : `${format.money(payout)} (${type})`;
}

function NoConfigs({ create }) {
  const action =
    create && html`<${Button} kind="main" icon="plus" onClick=${create}>Create the first one<//>`;
  return html`<${Empty} title="No event configurations yet" action=${action}>
    <p>
      For example <strong>Purchase</strong>, which pays 10 % of its value, or <strong>Sign-up</strong>,
      which pays 2.50.
    </p>
  <//>`;
}

function ArchiveDialog({ config, onClose, onDone }) {
  return html`<${ConfirmDeletion}
    title="Archive “${config.name}”?"
    action="Archive"
    path="/api/event-configs/${config.id}"
    done="“${config.name}” is archived"
    ...${{ onClose, onDone }}
  >
    <p>
      Its postback key stops working for good; requests with it are refused. Its conversions stay in
      every report.
    </p>
  <//>`;
}
