/** Corrections of a conversion: the dialog that makes one, and the history of all. */

import { api } from "console/core/api";
import { FormFields, namesOf, useFields } from "console/core/fields";
import { useAction } from "console/core/hooks";
import { html } from "console/core/html";
import { Table } from "console/core/lists";
import { ErrorNote, Time } from "console/core/parts";
import { toast } from "console/core/toasts";
import { Dialog } from "console/parts/dialog";
import { Changes } from "console/parts/history";
import { STATUSES, stateWord } from "console/conversions/states";

const REASONS =
  "customer_refund chargeback order_cancelled fraud duplicate test " +
  "wrong_value network_adjustment late_approval mapped other";
const AMOUNTS = ["value", "payout", "refunded_value"];
const NUMERIC = { inputmode: "decimal", hint: "The whole new amount; empty for none" };
const FIELDS = [
  { name: "status", label: "Status", options: Object.keys(STATUSES).map((one) => [one, one]) },
  { name: "value", label: "Value", ...NUMERIC },
  { name: "payout", label: "Payout", ...NUMERIC },
  { name: "refunded_value", label: "Refunded value", ...NUMERIC },
  {
    name: "reason",
    label: "Reason",
    required: true,
    options: [["", "Choose a reason"], ...REASONS.split(" ").map((one) => [one, stateWord(one)])],
  },
  { name: "note", label: "Note", rows: 2, maxlength: 500 },
];

/** The dialog that corrects a conversion. `onDone` gets the conversion as it will be. */
export function CorrectionDialog({ conversion, onDone, onClose }) {
  const amounts = AMOUNTS.map((name) => [name, String(conversion[name] ?? "")]);
  const first = { status: conversion.status, ...Object.fromEntries(amounts) };
  const { fields, set } = useFields({ ...first, reason: "", note: "" });
  const changed = Object.keys(first).filter((name) => fields[name] !== first[name]);
  const [save, busy, error] = useAction(async () => {
    const stated = changed.map((name) => [
      name,
      AMOUNTS.includes(name) ? amountOf(fields[name]) : fields[name],
    ]);
    const body = {
      ...Object.fromEntries(stated),
      reason: fields.reason,
      note: fields.note || null,
    };
    onDone(await api.patch(`/api/conversions/${conversion.event_id}`, body));
    toast("Corrected. Reports follow in a moment.");
    onClose();
  });
  return html`<${Dialog}
    title="Correct conversion ${conversion.event_id}"
    about="It counts so on its own day. What it was stays in its history."
    action="Correct"
    disabled=${changed.length === 0}
    ...${{ busy, onClose }}
    onSubmit=${save}
  >
    <${FormFields} list=${FIELDS} ...${{ fields, set, error }} />
    <${ErrorNote} error=${error} fields=${namesOf(FIELDS)} />
  <//>`;
}

/** Return the number in a text, null for none. The API refuses what is no number. */
function amountOf(text) {
  const sent = text.trim();
  return sent === "" ? null : Number.isNaN(Number(sent)) ? sent : Number(sent);
}

/** What a conversion was recorded with, and each change since. */
export function History({ changes }) {
  if (!changes.length) return null;
  return html`<h2>History</h2>
    <${Table}
      caption="History"
      load=${{ data: { rows: changes } }}
      rowKey=${(row) => `${row.recorded_at} ${row.at}`}
      columns=${COLUMNS}
    />`;
}

const COLUMNS = [
  { label: "When", cell: (row) => html`<${Time} at=${row.at} exact />` },
  {
    label: "By",
    cell: ({ actor: { kind, id, name } }) => [kind, name ?? id].filter(Boolean).join(" "),
  },
  {
    label: "What",
    wide: true,
    cell: ({ stated, before }) => {
      const fields = Object.entries(stated);
      const pairs = fields.map(([name, after]) => [name, { before: before[name] ?? null, after }]);
      return html`<${Changes} changes=${Object.fromEntries(pairs)} />`;
    },
  },
  {
    label: "Why",
    cell: ({ reason, note }) =>
      html`${reason && stateWord(reason)} ${note && html`<span class="hint">${note}</span>`}`,
  },
];
