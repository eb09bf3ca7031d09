/** Live: clicks and conversions as they land. */

import { useState } from "preact/hooks";
import { format } from "console/core/format";
import { useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { Table } from "console/core/lists";
import { Badge, Button, Empty, PageHeader } from "console/core/parts";
import { ConversionState, ConversionStatus } from "console/conversions/states";
import { MINUTES, addRecent, begins, isConnected, rows, state } from "console/live/stream";

/**
 * The page: the rows of the last minutes, then each new one. While it is paused it shows what was
 * there then.
 */
export default function Live() {
  const [paused, setPaused] = useState(null);
  const now = state.value;
  const shown = paused ?? rows.value;
  // Again with each stream: rows that were stored between two are in the feeds.
  const recent = useLoad(addRecent, [begins.value]);
  const isKnown = shown.length > 0 || (recent.data && !recent.error);
  const load = {
    error: recent.error,
    reload: recent.reload,
    ...(isKnown ? { data: { rows: shown } } : { loading: !recent.error }),
  };
  return html`
    <${PageHeader}
      title="Live"
      about="Clicks and conversions as they are stored, the last hundred."
    >
      <${Button}
        aria-pressed=${Boolean(paused)}
        onClick=${() => setPaused(paused ? null : rows.value)}
      >
        ${paused ? "Go on" : "Pause"}
      <//>
    <//>
    ${
      now?.behindSeconds > 0 &&
      html`<div class="note warning" role="status">
        <p>
          Clicks are stored ${format.count(now.behindSeconds, "second")} late at the moment. None is
          lost.
        </p>
      </div>`
    }
    ${
      now &&
      !isConnected.value &&
      html`<div class="note warning" role="status">
        <p>Nothing is heard at the moment; connecting again.</p>
      </div>`
    }
    <dl class="figures card">
      <div>
        <dt>Clicks, ${now?.minutes ?? MINUTES} minutes</dt>
        <dd>${now ? format.number(now.clicks) : "–"}</dd>
      </div>
      <div><dt>Bots</dt><dd>${now ? format.number(now.bots) : "–"}</dd></div>
      <div><dt>Conversions</dt><dd>${now ? format.number(now.conversions) : "–"}</dd></div>
    </dl>
    <${Table}
      caption="New clicks and conversions"
      load=${load}
      rowKey=${({ key }) => key}
      columns=${COLUMNS}
      empty=${html`<${Empty} title="Nothing yet">
        <p>
          Open one of your <a href="/console/links">short links</a>, and watch its click come in.
        </p>
      <//>`}
    />
  `;
}

const COLUMNS = [
  {
    label: "When",
    wide: true,
    cell: ({ row }) =>
      html`<time datetime=${row.at} title=${format.exact(row.at)}>
        ${format.clock(row.at)}
      </time>`,
  },
  {
    label: "What",
    cell: ({ kind, row }) =>
      kind === "click"
        ? html`<${ClickKind} click=${row} />`
        : html`<${ConversionKind} conversion=${row} />`,
  },
  {
    label: "Link",
    cell: ({ row: { link } }) =>
      link
        ? html`<a href="/console/links/${link.id}">${link.internal_name}</a>`
        : html`<span class="faint">–</span>`,
  },
  { label: "Country", cell: ({ row }) => row.country },
  {
    label: "Device",
    cell: ({ row }) =>
      [row.device, row.browser, row.os].filter((one) => one && one !== "unknown").join(", "),
  },
  { label: "Referrer", cell: ({ row }) => row.referrer },
  {
    label: "Value",
    numeric: true,
    cell: ({ kind, row }) => kind === "conversion" && format.money(row.value),
  },
];

function ClickKind({ click }) {
  if (click.test) return html`<${Badge} kind="accent">test click<//>`;
  return click.bot
    ? html`<${Badge} kind="warning">${click.bot.replace(/_/g, " ")}<//>`
    : html`<${Badge}>click<//>`;
}

function ConversionKind({ conversion }) {
  return html`
    <a href="/console/conversions/${conversion.event_id}">
      ${conversion.event_config?.name ?? "conversion"}
    </a> <${ConversionStatus} conversion=${conversion} />
    <${ConversionState} conversion=${conversion} />
  `;
}
