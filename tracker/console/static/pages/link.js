/** One link: where it leads, its QR code, its report and last clicks, and what was changed. */

import { useState } from "preact/hooks";
import { api } from "console/core/api";
import { format } from "console/core/format";
import { useAction, useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { Table } from "console/core/lists";
import {
  Badge,
  Button,
  CopyButton,
  ErrorNote,
  OutLink,
  PageHeader,
  Skeleton,
  Tag,
  Time,
  lazy,
} from "console/core/parts";
import { can, seesAll, session } from "console/core/session";
import { toast } from "console/core/toasts";
import { usePoll } from "console/parts/poll";
import { testClick } from "console/conversions/test-click";
import { toastChange } from "console/links/changes";
import { TEXTS } from "console/links/fields";
import { History } from "console/links/history";
import { State, usedOptions } from "console/links/options";
import { QrCode } from "console/links/qr";
import { UTM } from "console/links/utm";
import { Report } from "console/pages/overview";
import { RulesSummary } from "console/rules/summary";

const Experiment = lazy("console/rules/experiment", "Experiment");
const LedTo = lazy("console/links/led-to", "LedTo");
const LinkDialog = lazy("console/links/form", "LinkDialog");
const CLICKS = 15;
const POLL_MS = 1_000;

/** The page. */
export default function Link({ params }) {
  const link = useLoad(
    (signal) => api.get(`/api/short-links/${params.id}`, {}, signal),
    [params.id],
  );
  const history = useLoad(
    (signal) =>
      seesAll()
        ? api.get(`/api/short-links/${params.id}/history`, {}, signal)
        : Promise.resolve({}),
    [params.id],
  );
  const [editing, setEditing] = useState(false);
  const [tested, setTested] = useState(null);
  const changed = (saved) => {
    link.set(() => saved);
    history.reload();
  };
  if (!link.data)
    return html`
      <${PageHeader} title="Link" back=${BACK} />
      ${
        link.error
          ? html`<${ErrorNote} error=${link.error} retry=${link.reload} />`
          : html`<${Skeleton} lines=${6} />`
      }
    `;
  return html`
    <${PageHeader} title=${link.data.internal_name} back=${BACK}>
      <${Actions}
        link=${link.data}
        onEdit=${() => setEditing(true)}
        onChanged=${changed}
        onTested=${setTested}
      />
    <//>
    <div class="columns link-facts">
      <${Facts} link=${link.data} />
      <section class="card"><h2>QR code</h2><${QrCode} link=${link.data} /></section>
    </div>
    ${
      can("reports:read") &&
      [link.data, ...link.data.rules].some(({ split }) => split) &&
      html`<${Experiment} link=${link.data} onChanged=${changed} />`
    }
    ${
      can("reports:read") &&
      html`<section class="stack">
        <h2>Report</h2>
        ${
          link.data.opening_clicks > 0 &&
          html`<p class="about">
            And ${format.number(link.data.opening_clicks)} clicks before the import, whose days are
            not known.
          </p>`
        }
        <${Report} fixed=${{ link: link.data.id }} />
      </section>`
    }
    ${
      can("reports:read") &&
      session.value.account.has_parents &&
      html`<${LedTo} link=${link.data} />`
    }
    ${can("conversions:read") && html`<${Clicks} link=${link.data} tested=${tested} />`}
    ${seesAll() && html`<${History} link=${link.data} history=${history} onChanged=${changed} />`}
    ${
      editing &&
      html`<${LinkDialog} link=${link.data} onClose=${() => setEditing(false)} onDone=${changed} />`
    }
  `;
}

const BACK = { href: "/console/links", label: "Links" };

function Actions({ link, onEdit, onChanged, onTested }) {
  const [act, busy] = useAction((work) =>
    work().catch((error) => toast(error.message, { kind: "bad" })),
  );
  const archive = async () => {
    await api.delete(`/api/short-links/${link.id}`);
    onChanged({ ...link, archived: true });
    toast(`“${link.internal_name}” is archived`, {
      action: { label: "Undo", run: () => act(restore) },
    });
  };
  const restore = async () => onChanged(await api.post(`/api/short-links/${link.id}/restore`));
  const setActive = (active) => async () => {
    const changed = await api.patch(`/api/short-links/${link.id}`, { active });
    onChanged(changed);
    toastChange(active ? "Active again" : "Paused", link, changed, ["active"], onChanged);
  };
  if (!can("links:write")) return null;
  if (link.archived)
    return html`<${Button} kind="main" icon="refresh" busy=${busy} onClick=${() => act(restore)}>
      Restore
    <//>`;
  return html`
    ${
      link.active &&
      html`<${Button} busy=${busy} onClick=${() => act(() => testClick(link).then(onTested))}>
        Test click
      <//>`
    }
    <${Button} busy=${busy} onClick=${() => act(setActive(!link.active))}>
      ${link.active ? "Pause" : "Activate"}
    <//>
    <${Button} kind="danger" icon="archive" busy=${busy} onClick=${() => act(archive)}>Archive<//>
    <${Button} kind="main" icon="edit" onClick=${onEdit}>Edit<//>
  `;
}

/** The facts of a link, as its page lists them. */
export function Facts({ link }) {
  return html`<section class="card">
    <h2>The link</h2>
    <dl class="facts">
      <dt>Short URL</dt>
      <dd>
        <span class="copy-value">
          <${OutLink} url=${link.short_url} />
          <${CopyButton} text=${link.short_url} label="Copy the short URL" />
        </span>
      </dd>
      ${TEXTS.map(
        ({ name, label }) =>
          link[name] &&
          html`
            <dt>${label}</dt>
            <dd>${link[name]}</dd>
          `,
      )}
      <dt>Destination</dt>
      <dd><${OutLink} url=${link.destination_url} /></dd>
      <dt>Rules</dt>
      <dd>
        ${(link.rules.length > 0 || link.split) && html`<${RulesSummary} link=${link} />`}
        <a href="/console/links/${link.id}/rules">Edit and try its rules</a>
      </dd>
      ${UTM.map(
        ([name, label]) =>
          link[name] !== null &&
          html`
            <dt>UTM ${label.toLowerCase()}</dt>
            <dd>${link[name]}</dd>
          `,
      )}
      ${usedOptions(link).map(
        ([label, text]) => html`
          <dt>${label}</dt>
          <dd>${text}</dd>
        `,
      )}
      <dt>State</dt>
      <dd>
        <${State} link=${link} />
      </dd>
      <dt>Tags</dt>
      <dd class="tags">
        ${
          link.tags.length
            ? link.tags.map(
                ({ name }) => html`<${Tag}>
                  ${name}
                <//>`,
              )
            : html`<span class="faint">none</span>`
        }
      </dd>
      <dt>Created</dt>
      <dd><${Time} at=${link.created_at} exact /></dd>
      <dt>Id</dt>
      <dd><code>${link.id}</code></dd>
    </dl>
  </section>`;
}

/**
 * The last clicks, and what became of each. It looks again until it has the test click with the id
 * `tested`.
 */
function Clicks({ link, tested }) {
  const clicks = useLoad(
    (signal) => api.get("/api/clicks", { link: link.id, pageSize: CLICKS }, signal),
    [link.id],
  );
  usePoll(clicks, tested && !clicks.data?.rows.some(({ id }) => id === tested), POLL_MS);
  const own = `/console/conversions?link=${link.id}`;
  const columns = [
    {
      label: "When",
      wide: true,
      cell: ({ id, at, test }) =>
        html`<span class="row">
          <a href="/console/clicks/${id}"><${Time} at=${at} exact /></a>
          ${test && html` <${Badge} kind="accent">test<//>`}
        </span>`,
    },
    { label: "Country", cell: ({ country }) => country },
    {
      label: "Device",
      cell: ({ device, browser, os }) =>
        [device, browser, os].filter((one) => one && one !== "unknown").join(", "),
    },
    { label: "Referrer", cell: (row) => row.referrer_host },
    session.value.account.parameters.length > 0 && {
      label: "Own parameters",
      cell: ({ parameters }) =>
        Object.entries(parameters)
          .map((one) => one.join("="))
          .join(", "),
    },
    {
      label: "Bot",
      cell: ({ bot }) => bot && html`<${Badge} kind="warning">${bot.replace(/_/g, " ")}<//>`,
    },
    {
      label: "Conversions",
      numeric: true,
      cell: ({ conversions: count }) =>
        count
          ? html`<a href=${own}>${format.number(count)}</a>`
          : html`<span class="faint">–</span>`,
    },
  ];
  return html`<section class="stack">
    <header class="row between">
      <h2>Last clicks</h2>
      <a href=${own}>Its conversions, one by one</a>
    </header>
    <${Table}
      caption="Last clicks"
      load=${clicks}
      columns=${columns.filter(Boolean)}
      empty=${html`<p class="about">No click yet.</p>`}
    />
  </section>`;
}
