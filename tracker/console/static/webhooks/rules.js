/** Alerts and summaries: figures that webhooks are told of. */

import { useState } from "preact/hooks";
import { api, owned } from "console/core/api";
import { FormFields, namesOf, useFields } from "console/core/fields";
import { useAction, useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { Table } from "console/core/lists";
import { Badge, Button, ErrorNote, Time } from "console/core/parts";
import { can, session, today } from "console/core/session";
import { loadAll } from "console/parts/all";
import { ConfirmDeletion, Dialog } from "console/parts/dialog";
import { FILTERS, ownDimensions, titlesOf } from "console/reports/dimensions";
import { MEASURES } from "console/reports/measures";
import { readReport } from "console/reports/query";

const CONDITIONS = {
  below: "is below",
  above: "is above",
  halved: "is below half of the week before",
};
const EVERY = { week: "every Monday", month: "every 1st of a month" };
const optionsOf = (words) => Object.entries(words);
const MEASURE_OPTIONS = optionsOf(MEASURES).map(([name, [title]]) => [name, title]);
const titleOf = (measure) => MEASURES[measure]?.[0] ?? measure;
const KINDS = {
  alerts: {
    noun: "alert",
    title: "Alerts",
    button: "New alert",
    editable: true,
    empty: "An alert tells a webhook when clicks stop, or a figure is too low or too high.",
    rule: { measure: "clicks", condition: "below", threshold: "10", hours: "24", pauseHours: "24" },
    fields: ({ condition }) => [
      { name: "measure", label: "If", options: MEASURE_OPTIONS },
      { name: "condition", label: "Condition", options: optionsOf(CONDITIONS) },
      condition !== "halved" && number("threshold", "Threshold", { step: "any" }),
      number("hours", "Within hours", { min: 1, max: 168 }),
      number("pauseHours", "At most once in hours", { min: 1, max: 720 }),
    ],
    sent: ({ measure, condition, threshold, hours, pauseHours }) => ({
      ...{ measure, condition, hours: Number(hours), pauseHours: Number(pauseHours) },
      threshold: condition === "halved" ? null : Number(threshold),
    }),
    words: ({ measure, condition, threshold, hours }) =>
      `${titleOf(measure)} ${CONDITIONS[condition]} ${threshold ?? ""} within ${hours ?? 24} hours`,
  },
  summaries: {
    noun: "summary",
    title: "Summaries",
    button: "New summary",
    empty: "A summary tells a webhook the figures of each week or month.",
    rule: { every: "week", measure: "clicks", groupBy: "link" },
    fields: () => [
      { name: "every", label: "When", options: optionsOf(EVERY) },
      { name: "measure", label: "First by", options: MEASURE_OPTIONS },
      { name: "groupBy", label: "Rows", options: FILTERS.map((one) => [one, titlesOf(one)[0]]) },
    ],
    sent: ({ every, measure, groupBy }) => ({ every, measure, groupBy }),
    words: ({ every, measure, groupBy }) =>
      `${EVERY[every]}, ${titleOf(measure ?? "clicks")} by ${groupBy ? titlesOf(groupBy)[0] : "day"}`,
  },
};
const number = (name, label, others) => ({
  name,
  label,
  type: "number",
  required: true,
  ...others,
});

/** The sections of both kinds, for the `webhooks` of the account. */
export function Rules({ webhooks }) {
  return Object.keys(KINDS).map(
    (kind) => html`<${Section} key=${kind} ...${{ kind, webhooks }} />`,
  );
}

function Section({ kind, webhooks }) {
  const { title, button, empty, noun, words, editable } = KINDS[kind];
  const rules = useLoad((signal) => loadAll(`/api/${kind}`, signal), []);
  const [open, setOpen] = useState(null);
  const given = { onClose: () => setOpen(null), onDone: rules.reload };
  const mayWrite = can("webhooks:write") && can("reports:read");
  const names = Object.fromEntries(webhooks.map(({ id, name }) => [id, name]));
  const columns = [
    { label: "Name", wide: true, cell: (one) => html`<strong>${one.name}</strong>` },
    { label: "When", cell: ({ rule }) => words(rule) },
    { label: "Tells", cell: (one) => names[one.webhook_id] ?? "a deleted webhook" },
    {
      label: "Last told",
      cell: ({ problem, told_until: at }) =>
        problem
          ? html`<${Badge} kind="bad">cannot<//> <span class="hint">${problem}</span>`
          : html`<${Time} at=${at} none="never" />`,
    },
    mayWrite && {
      label: "Actions",
      actions: true,
      cell: (rule) => html`
        ${
          editable &&
          html`<${Button}
            kind="quiet"
            icon="edit"
            label="Edit ${rule.name}"
            onClick=${() => setOpen({ like: rule })}
          />`
        }
        <${Button}
          kind="quiet"
          icon="trash"
          label="Delete ${rule.name}"
          onClick=${() => setOpen({ rule })}
        />
      `,
    },
  ].filter(Boolean);
  return html`
    <header class="row between">
      <h2>${title}</h2>
      ${mayWrite && html`<${Button} icon="plus" onClick=${() => setOpen({})}>${button}<//>`}
    </header>
    <${Table}
      caption=${title}
      load=${rules}
      columns=${columns}
      skeleton=${1}
      empty=${html`<p class="about">${empty}</p>`}
    />
    ${
      open &&
      !open.rule &&
      html`<${RuleDialog} ...${{ kind, webhooks, like: open.like, ...given }} />`
    }
    ${
      open?.rule &&
      html`<${ConfirmDeletion}
        title="Delete “${open.rule.name}”?"
        action="Delete the ${noun}"
        path="/api/${kind}/${open.rule.id}"
        done="“${open.rule.name}” is deleted"
        ...${given}
      />`
    }
  `;
}

/** The dialog of a new rule, or of one `like` that is replaced. */
function RuleDialog({ kind, webhooks, like, onClose, onDone }) {
  const { button, rule, fields: fieldsOf, sent } = KINDS[kind];
  const views = useLoad((signal) => loadAll("/api/views", signal), []);
  const first = { name: "", webhook_id: webhooks[0].id, view: like ? "kept" : "", ...rule };
  const { fields, set } = useFields({ ...first, ...(like && { ...like, ...like.rule }) });
  const saved = views.data?.rows ?? [];
  const kept = like ? [["kept", "the clicks as before"]] : [];
  const list = [
    { name: "name", label: "Name", required: true, maxlength: 255, "data-focus": true },
    ...fieldsOf(fields),
    { name: "view", label: "Of", options: [...kept, ["", "all clicks"], ...saved.map(optionOf)] },
    { name: "webhook_id", label: "Tell", options: webhooks.map(optionOf) },
  ];
  const [save, busy, error] = useAction(async () => {
    const { name, webhook_id, view } = fields;
    const query = saved.find((one) => one.id === view)?.query ?? "";
    const filters = view === "kept" ? like.rule.filters : filtersOf(query);
    const body = owned({ name, webhook_id, rule: { ...sent(fields), filters } });
    await (like ? api.put(`/api/${kind}/${like.id}`, body) : api.post(`/api/${kind}`, body));
    onDone();
    onClose();
  });
  const about = "“Of” takes the filters of a saved view, as they are now.";
  return html`<${Dialog}
    title=${like ? "Edit the alert" : button}
    action=${like ? "Save" : "Create"}
    ...${{ about, busy, onClose }}
    onSubmit=${save}
  >
    <${FormFields} ...${{ list, fields, set, error }} />
    <${ErrorNote} ...${{ error, fields: namesOf(list) }} />
  <//>`;
}

const optionOf = ({ id, name }) => [id, name];

/** Return the filters of a view, as reports take them. */
function filtersOf(text) {
  const query = Object.fromEntries(new URLSearchParams(text));
  const dimensions = [...FILTERS, ...ownDimensions(session.value.account.parameters)];
  const { filters, bots, tests, tagOperator } = readReport(query, { today: today(), dimensions });
  return { ...filters, bots, tests, tagOperator };
}
