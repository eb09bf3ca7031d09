/** The experiment of a link's split: which variant converts more, and whether that is chance. */

import { useState } from "preact/hooks";
import { api } from "console/core/api";
import { format } from "console/core/format";
import { useAction, useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { Table } from "console/core/lists";
import { Badge, Button, Choice, ErrorNote } from "console/core/parts";
import { navigate } from "console/core/route";
import { can } from "console/core/session";
import { toast } from "console/core/toasts";
import { DayInput } from "console/parts/day-input";

const CONCLUSIONS = {
  first: "the others are compared with it",
  no_visitors: "no visitors yet",
  cannot_be_told_apart: "cannot be told apart yet",
  higher: "converts more",
  lower: "converts less",
};

const points = (rate) => format.number(Math.round(rate * 1000) / 10);
const between = (write, { low, high }) => `${write(low)} to ${write(high)}`;

/** The report of one of the link's splits, of which there is one at least. */
export function Experiment({ link, onChanged }) {
  const path = `/api/short-links/${link.id}`;
  const splits = [link, ...link.rules].filter(({ split }) => split);
  const ids = splits.map((one) => (one === link ? "" : one.id));
  const [chosen, choose] = useState();
  const rule_id = ids.includes(chosen) ? chosen : ids[0];
  const [days, setDays] = useState({});
  const report = useLoad(
    (signal) => api.get(`${path}/experiment`, { rule_id, ...days }, signal),
    [path, rule_id, days],
  );
  const [end, busy, error] = useAction(async ({ id, name }) => {
    onChanged(await api.post(`${path}/split/end`, { variant_id: id }));
    const run = () => navigate(`/console/links/${link.id}/rules`);
    toast(`All are led to ${name}`, { action: { label: "History", run } });
  });
  const shown = { ...report.data?.date_range, ...days };
  const own = (name) => html`<${DayInput}
    value=${shown[name]}
    onDay=${(day) => setDays({ ...days, [name]: day })}
  />`;
  return html`<section class="stack">
    <h2>Experiment</h2>
    <div class="filters">
      <${Choice}
        label="Split"
        value=${rule_id}
        options=${splits.map((one, at) => [ids[at], ids[at] ? one.name : "All others"])}
        onInput=${choose}
      />
      <label class="row">Clicks from ${own("from")}</label>
      <label class="row">to ${own("to")}</label>
    </div>
    <${ErrorNote} error=${error} />
    <${Table}
      caption="Variants"
      load=${{ ...report, data: report.data && { rows: report.data.variants } }}
      columns=${columns(can("links:write") && !link.archived && { busy, end })}
    />
    <p class="hint">
      Intervals have the real value 95 times in a hundred. ${report.data?.warning}
    </p>
  </section>`;
}

function columns(ending) {
  const number = (label, cell) => ({ label, cell, numeric: true });
  return [
    {
      label: "Variant",
      wide: true,
      cell: ({ name, active, weight }) =>
        html`${name}
        ${!active && html` <${Badge}>${weight === null ? "removed" : "not active"}<//>`}`,
    },
    number("Visitors", ({ visitors }) => format.number(visitors)),
    number("Conversions", ({ conversions }) => format.number(conversions)),
    number("Rate", ({ rate, interval }) =>
      interval ? `${format.percent(rate)} (${between(format.percent, interval)})` : "–",
    ),
    number("Difference in points", ({ difference: one }) =>
      one ? `${points(one.rate)} (${between(points, one.interval)})` : "–",
    ),
    number("Smallest to be seen", ({ difference: one }) =>
      one && one.smallest !== null ? points(one.smallest) : "–",
    ),
    { label: "Result", cell: ({ conclusion }) => CONCLUSIONS[conclusion] },
    ending && {
      label: "End",
      cell: (one) =>
        one.weight !== null &&
        html`<${Button}
          label="End at ${one.name}"
          busy=${ending.busy}
          onClick=${() => ending.end(one)}
        >
          End
        <//>`,
    },
  ].filter(Boolean);
}
