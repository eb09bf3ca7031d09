/** The form of an event configuration. */

import { useState } from "preact/hooks";
import { api, owned } from "console/core/api";
import { FormFields, namesOf, useFields } from "console/core/fields";
import { useAction } from "console/core/hooks";
import { html } from "console/core/html";
import { ErrorNote } from "console/core/parts";
import { Dialog } from "console/parts/dialog";
import {
  MEANINGS,
  NameFields,
  PARAMETERS,
  aliasesFrom,
  meaningWord,
  namesIn,
} from "console/conversions/parameter-aliases";

const REPEATS = [
  ["", "Restates the conversion if it has a status"],
  ["first", "Changes nothing"],
  ["update", "Restates the conversion"],
  ["count", "Counts as one more"],
];

const PAYOUT_TYPES = [
  ["CPA", "CPA: a fixed amount for each action"],
  ["CPL", "CPL: a fixed amount for each lead"],
  ["CPS", "CPS: a fixed amount for each sale"],
  ["CPI", "CPI: a fixed amount for each install"],
  ["RevShare", "RevShare: a percentage of the value"],
];

export function ConfigDialog({ config, added, onClose, onDone, onCreated }) {
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
