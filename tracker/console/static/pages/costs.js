/** Costs: what the clicks of a period have cost, and the earlier amounts of each. */

import { useCallback, useState } from "preact/hooks";
import { api, owned } from "console/core/api";
import { plusDays } from "console/core/dates";
import { Field, Select, TextField, useFields } from "console/core/fields";
import { format } from "console/core/format";
import { useAction, useLoad, useSettled, useShortcut } from "console/core/hooks";
import { html } from "console/core/html";
import { Pagination, Table } from "console/core/lists";
import { Badge, Button, Empty, ErrorNote, Menu, PageHeader, Time } from "console/core/parts";
import { route, setQuery } from "console/core/route";
import { can, session, today } from "console/core/session";
import { toast } from "console/core/toasts";
import { DayInput } from "console/parts/day-input";
import { ConfirmDeletion, Dialog } from "console/parts/dialog";
import { ownDimensions, titlesOf } from "console/reports/dimensions";

const KINDS = ["utm_campaign", "link", "tag", "utm_source", "utm_medium", "utm_term"];
KINDS.push("utm_content", "referrer");
const kinds = () => [...KINDS, ...ownDimensions(session.value.account.parameters)];

/** The page. The days and the page number are in the URL. */
export default function Costs() {
  const { page, from, to } = route.value.query;
  const costs = useLoad(
    (signal) => api.get("/api/costs", { page, from, to }, signal),
    [page, from, to],
  );
  const [open, setOpen] = useState(null);
  const mayWrite = can("costs:write");
  const enter = useCallback(() => mayWrite && setOpen({ kind: "new" }), [mayWrite]);
  useShortcut("c", "Enter a cost", enter);
  const onClose = () => setOpen(null);
  const pick = (name) => (day) => setQuery({ [name]: day });
  const dialog = { cost: open?.cost, onClose, onDone: costs.reload };
  return html`
    <${PageHeader}
      title="Costs"
      about="What clicks have cost, spread evenly over those of a period. Costs with other periods or filters add up."
    >
      ${mayWrite && html`<${Button} kind="main" icon="plus" onClick=${enter}>Enter a cost<//>`}
    <//>
    <div class="filters">
      <label class="row">From <${DayInput} value=${from} onDay=${pick("from")} /></label>
      <label class="row">to <${DayInput} value=${to} onDay=${pick("to")} /></label>
    </div>
    <${Table}
      caption="Costs"
      load=${costs}
      columns=${columns(mayWrite, setOpen)}
      empty=${html`<${Empty} title=${from || to ? "No costs of these days" : "No costs yet"}>
        <p>With the cost of a campaign, reports show what it earned: profit and ROI.</p>
      <//>`}
    />
    <${Pagination} pagination=${costs.data?.pagination} noun="cost" />
    ${open?.kind === "new" && html`<${NewDialog} ...${dialog} />`}
    ${open?.kind === "history" && html`<${HistoryDialog} ...${dialog} />`}
    ${
      open?.kind === "delete" &&
      html`<${ConfirmDeletion}
        title="Delete this cost?"
        action="Delete the cost"
        path="/api/costs/${open.cost.id}"
        done="The cost is deleted"
        ...${dialog}
      >
        <p>${titleOf(open.cost)}: ${amountOf(open.cost)}. Reports lose it at once.</p>
      <//>`
    }
  `;
}

const amountOf = ({ amount, currency }) => format.money(amount, currency ?? undefined);
const periodOf = ({ from, to }) => (from === to ? from : `${from} to ${to}`);
const titleOf = (cost) => `${cost.name}, ${periodOf(cost)}`;

function columns(mayWrite, setOpen) {
  const items = (cost) => [
    { label: "Earlier amounts", icon: "search", run: () => setOpen({ kind: "history", cost }) },
    mayWrite && {
      label: "Delete",
      icon: "trash",
      kind: "danger",
      run: () => setOpen({ kind: "delete", cost }),
    },
  ];
  return [
    { label: "Period", cell: periodOf },
    {
      label: "Clicks of",
      wide: true,
      cell: (cost) => html`<strong>${cost.name}</strong>
        <span class="hint"> ${titlesOf(Object.keys(cost.filter)[0])[0]}</span>`,
    },
    { label: "Amount", numeric: true, cell: amountOf },
    {
      label: "Clicks",
      numeric: true,
      cell: ({ clicks }) =>
        clicks ? format.number(clicks) : html`<${Badge} kind="warning">no click<//>`,
    },
    { label: "Changed", cell: (cost) => html`<${Time} at=${cost.updated_at} />` },
    {
      label: "Actions",
      actions: true,
      cell: (cost) => html`<${Menu}
        label="Actions for ${titleOf(cost)}"
        items=${items(cost).filter(Boolean)}
      />`,
    },
  ];
}

/** The dialog to enter the cost of days, by default of yesterday. */
function NewDialog({ onClose, onDone }) {
  const yesterday = plusDays(today(), -1);
  const { fields, set } = useFields({ from: yesterday, to: yesterday, kind: KINDS[0], amount: "" });
  const { from, to, kind, amount } = fields;
  const [value, setValue] = useState("");
  const [text, setText] = useState("");
  const search = useSettled(text);
  const found = useLoad(
    (signal) => api.get("/api/reports/values", { dimension: kind, search, limit: 100 }, signal),
    [kind, search],
  );
  const rows = found.data?.rows ?? [];
  const chosen = rows.some(({ key }) => key === value) ? value : (rows[0]?.key ?? "");
  const [save, busy, error] = useAction(async () => {
    const row = { from, to, filter: { [kind]: chosen }, amount: Number(amount) };
    const { rows: stored } = await api.put("/api/costs", owned({ rows: [row] }));
    toast(
      stored[0].outcome === "replaced" ? "The earlier amount is replaced" : "The cost is stored",
    );
    onDone();
    onClose();
  });
  const day = (name, label) => html`<${Field} label=${label}>
    ${(given) => html`<${DayInput} ...${given} required value=${fields[name]} onDay=${set(name)} />`}
  <//>`;
  return html`<${Dialog}
    title="Enter a cost"
    about="An amount with the same days and filter is replaced."
    action="Store"
    disabled=${!chosen}
    ...${{ busy, onClose }}
    onSubmit=${save}
  >
    ${day("from", "From")} ${day("to", "To")}
    <${Select}
      label="Clicks by"
      value=${kind}
      options=${kinds().map((name) => [name, titlesOf(name)[0]])}
      onInput=${set("kind")}
    />
    <${TextField} label="Search" type="search" value=${text} onInput=${setText} />
    <${Select}
      label=${titlesOf(kind)[0]}
      value=${chosen}
      options=${rows.map(({ key, name }) => [key, name])}
      hint=${found.data && !rows.length ? "Nothing is called that in 90 days" : ""}
      onInput=${setValue}
    />
    <${TextField}
      label="Amount"
      type="number"
      min="0"
      step="any"
      required
      value=${amount}
      onInput=${set("amount")}
      data-focus
    />
    <${ErrorNote} error=${error ?? found.error} />
  <//>`;
}

/** The earlier amounts of a cost, newest first. */
function HistoryDialog({ cost, onClose, onDone }) {
  const [restore, busy, error] = useAction(async (revision) => {
    await api.post(`/api/costs/${cost.id}/restore`, owned({ revision }));
    toast("The amount is restored");
    onDone();
    onClose();
  });
  const columns = [
    { label: "Amount", numeric: true, cell: amountOf },
    { label: "Since", cell: (one) => html`<${Time} at=${one.updated_at} />` },
    { label: "By", cell: (one) => one.actor.name },
    can("costs:write") && {
      label: "Restore",
      actions: true,
      cell: (one) =>
        html`<${Button} disabled=${busy} onClick=${() => restore(one.revision)}>Restore<//>`,
    },
  ];
  return html`<${Dialog} title="Earlier amounts" about=${titleOf(cost)} onClose=${onClose}>
    <${Table}
      caption="Earlier amounts"
      load=${{ data: { rows: [...cost.history].reverse() } }}
      columns=${columns.filter(Boolean)}
      empty=${html`<p class="about">It has had no other amount than ${amountOf(cost)}.</p>`}
    />
    <${ErrorNote} error=${error} />
  <//>`;
}
