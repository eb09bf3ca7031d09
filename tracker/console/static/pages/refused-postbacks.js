/** Refused postbacks: requests to report a conversion that were not accepted, and why. */

import { api } from "console/core/api";
import { format } from "console/core/format";
import { useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { Pagination, SearchBox, Table } from "console/core/lists";
import { Badge, Button, Choice, Empty, PageHeader, Time } from "console/core/parts";
import { route, setQuery } from "console/core/route";

const BACK = { href: "/console/conversions", label: "Conversions" };

/** The parts of a request that may be at fault. */
const REASONS = {
  pbk: "postback key",
  click_id: "click id",
  value: "value",
  transaction_id: "transaction id",
  metadata: "metadata",
  status: "status",
  currency: "currency",
  occurred_at: "time",
  consent: "consent",
  rate: "too many at once",
  request: "the request",
};

/** The page. Its filter is in the URL. */
export default function RefusedPostbacks() {
  const { page, reason, search } = route.value.query;
  const refused = useLoad(
    (signal) => api.get("/api/refused-postbacks", { page, reason, search }, signal),
    [page, reason, search],
  );
  const counts = refused.data?.counts ?? [];
  const all = counts.reduce((sum, { count }) => sum + count, 0);
  const empty = html`<${Empty} title=${reason || search ? "None of them fits" : "Nothing was refused"}>
    <p>
      Requests to your postback address that break a rule are listed here for 7 days. One that names
      neither a postback key nor a click of yours cannot be told apart, and is not listed.
    </p>
  <//>`;
  return html`
    <${PageHeader}
      title="Refused postbacks"
      about="Requests of the last 7 days that were not accepted as conversions, and why. Nothing of them counts."
      back=${BACK}
    >
      <${Button} icon="refresh" onClick=${refused.reload}>Refresh<//>
    <//>
    ${
      counts.length > 0 &&
      html`<div class="filters">
        <${SearchBox} label="Click id, transaction id, or a part" />
        <${Choice}
          label="Reason"
          value=${reason ?? ""}
          options=${[["", `Every reason (${format.number(all)})`], ...counts.map(reasonOption)]}
          onInput=${(value) => setQuery({ reason: value, page: null })}
        />
      </div>`
    }
    <${Table} caption="Refused postbacks" load=${refused} columns=${COLUMNS} empty=${empty} />
    <${Pagination} pagination=${refused.data?.pagination} noun="request" />
  `;
}

const COLUMNS = [
  { label: "When", cell: ({ at }) => html`<${Time} at=${at} exact />` },
  {
    label: "Why",
    wide: true,
    cell: ({ reason, error }) =>
      html`<div class="main-cell">
        <span><${Badge} kind="bad">${REASONS[reason] ?? reason}<//></span>
        <span>${error}</span>
      </div>`,
  },
  {
    label: "Event",
    cell: ({ event_config: config }) => config?.name ?? html`<span class="faint">–</span>`,
  },
  {
    label: "Request",
    cell: (row) =>
      html`<div class="sent">
        <span class="hint">${row.method} /api/event</span>
        ${[row.query, row.body].filter(Boolean).map((text) => html`<code>${text}</code>`)}
      </div>`,
  },
];

function reasonOption({ reason, count }) {
  return [reason, `${REASONS[reason] ?? reason} (${format.number(count)})`];
}
