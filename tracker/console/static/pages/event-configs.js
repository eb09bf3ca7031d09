/** Event configurations: what conversions are and pay, with snippets to report them. */

import { useCallback, useEffect, useState } from "preact/hooks";
import { api, owned } from "console/core/api";
import { FormFields, namesOf, useFields } from "console/core/fields";
import { format } from "console/core/format";
import { useAction, useLoad, useShortcut } from "console/core/hooks";
import { html } from "console/core/html";
import { Pagination, Table } from "console/core/lists";
import { Badge, Button, Empty, ErrorNote, Menu, PageHeader, Time, lazy } from "console/core/parts";
import { route, setQuery } from "console/core/route";
import { can } from "console/core/session";
import { toast } from "console/core/toasts";
import { loadAll } from "console/parts/all";
import { CopyValue } from "console/parts/code";
import { ConfirmDeletion, Dialog } from "console/parts/dialog";
import {
  MEANINGS,
  NameFields,
  PARAMETERS,
  aliasesFrom,
  meaningWord,
  namesIn,
} from "console/conversions/parameter-aliases";
import { UnknownWords } from "console/conversions/unknown-words";

const SnippetsDialog = lazy("console/conversions/snippets-dialog", "SnippetsDialog");

const PAYOUT_TYPES = [
  ["CPA", "CPA: a fixed amount for each action"],
  ["CPL", "CPL: a fixed amount for each lead"],
  ["CPS", "CPS: a fixed amount for each sale"],
  ["CPI", "CPI: a fixed amount for each install"],
  ["RevShare", "RevShare: a percentage of the value"],
];

const REPEATS = [
  ["", "Restates the conversion if it has a status"],
  ["first", "Changes nothing"],
  ["update", "Restates the conversion"],
  ["count", "Counts as one more"],
];

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

function ConfigDialog({ config, added, onClose, onDone, onCreated }) {
  const { fields, set } = useFields({
    name: config?.name ?? "",
    payout_type: config?.payout_type ?? "CPA",
    payout: config ? String(config.payout) : "",
    unknown_status: config?.unknown_status ?? "pending",
    on_repeat: config?.on_repeat ?? "",
    window_days: config?.window_days ?? "",
    min_seconds: config?.min_seconds ?? "",
    currency: config?.currency ?? "",
  });
  const [names, setNames] = useState(namesIn({ ...config?.parameter_aliases, ...added }));
  const known = namesIn(config?.statuses, MEANINGS);
  const [words, setWords] = useState(known);
  const list = configFields(fields);
  const [save, busy, error] = useAction(async () => {
    const sent = {
      ...fields,
      payout: Number(fields.payout),
      on_repeat: fields.on_repeat || null,
      window_days: fields.window_days === "" ? null : Number(fields.window_days),
      min_seconds: fields.min_seconds === "" ? null : Number(fields.min_seconds),
      currency: fields.currency || null,
      parameter_aliases: aliasesFrom(names),
    };
    // A word with a comma cannot be typed here, and stays unless the words are changed.
    if (MEANINGS.some(([one]) => words[one] !== known[one]))
      sent.statuses = aliasesFrom(words, "status");
    const saved = config
      ? await api.patch(`/api/event-configs/${config.id}`, sent)
      : await api.post("/api/event-configs", owned(sent));
    onDone();
    if (config) onClose();
    else onCreated(saved);
  });
  return html`<${Dialog}
    title=${config ? "Edit the event configuration" : "New event configuration"}
    action=${config ? "Save" : "Create"}
    ...${{ busy, onClose }}
    onSubmit=${save}
  >
    <${FormFields} ...${{ list, fields, set, error }} />
    <${NameFields}
      summary="Names that your network uses"
      hint="If it cannot send click_id, say what it sends instead."
      fields=${PARAMETERS}
      label=${(parameter) => `Other names of ${parameter}`}
      names=${names}
      onInput=${setNames}
    />
    <${NameFields}
      summary="Words that your network uses for a status"
      hint="Words that mean one thing everywhere, such as approved and trash, need none."
      fields=${MEANINGS}
      label=${(meaning) => `Words for ${meaningWord(meaning)}`}
      names=${words}
      onInput=${setWords}
    />
    <details class="aliases">
      <summary>Repeats, times and currency</summary>
      <${FormFields} list=${REPORT_FIELDS} ...${{ fields, set, error }} />
    </details>
    ${config && html`<p class="hint">Conversions that were recorded keep what they paid.</p>`}
    <${ErrorNote} error=${error} fields=${namesOf([...list, ...REPORT_FIELDS])} />
  <//>`;
}

const REPORT_FIELDS = [
  {
    name: "unknown_status",
    label: "Other words mean",
    options: MEANINGS.slice(0, 4).map(([meaning]) => [meaning, meaning]),
  },
  {
    name: "on_repeat",
    label: "A repeat",
    options: REPEATS,
    hint: "A report with the same transaction id; or with a status, of the same click.",
  },
  {
    name: "window_days",
    label: "Days after the click",
    hint: "Later ones are kept without their click. Empty: any time",
    type: "number",
    min: 1,
    max: 400,
  },
  {
    name: "min_seconds",
    label: "Seconds after the click, at least",
    hint: "Faster ones are kept without their click. Empty: any time",
    type: "number",
    min: 1,
    max: 86400,
  },
  {
    name: "currency",
    label: "Currency",
    hint: "Of conversions that bring none. Empty: the account’s",
    placeholder: "EUR",
    maxlength: 3,
  },
];

function configFields({ payout_type: type }) {
  return [
    { name: "name", label: "Name", placeholder: "Purchase", required: true, maxlength: 255 },
    { name: "payout_type", label: "Pays", options: PAYOUT_TYPES },
    {
      name: "payout",
      label: type === "RevShare" ? "Percentage" : "Amount",
      type: "number",
      min: 0,
      step: "any",
      required: true,
    },
  ];
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
