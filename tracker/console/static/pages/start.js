/**
 * Start: leads a new account through a link, a click, and a conversion, with what it has by now.
 */

import { useState } from "preact/hooks";
import { api, owned } from "console/core/api";
import { format } from "console/core/format";
import { useAction, useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import {
  Badge,
  Button,
  ErrorNote,
  OutLink,
  PageHeader,
  Skeleton,
  Time,
  lazy,
} from "console/core/parts";
import { route, setQuery } from "console/core/route";
import { can } from "console/core/session";
import { toast } from "console/core/toasts";
import { CodeBlock } from "console/parts/code";
import { usePoll } from "console/parts/poll";
import { testClick } from "console/conversions/test-click";
import { rows } from "console/live/stream";

const LinkDialog = lazy("console/links/form", "LinkDialog");
const POLL_MS = 2_000;

/** The page. It looks every two seconds, while it is seen, whether the next step is done. */
export default function Start() {
  const { link: chosen } = route.value.query;
  const state = useLoad((signal) => progress(chosen, signal), [chosen]);
  const { link, click, config, conversion } = state.data ?? {};
  const own = chosen || click || !can("links:write") ? link : undefined;
  const done = [
    Boolean(own),
    Boolean(click),
    Boolean(click),
    Boolean(conversion),
    Boolean(conversion),
  ];
  usePoll(state, !done.every(Boolean), POLL_MS);
  const current = done.indexOf(false);
  const kind = (step) => (done[step] ? "done" : step === current ? "current" : "");
  return html`
    <${PageHeader}
      title="How it works"
      about="From a link to a report, with a click and a conversion of your own. They are tests: no figure counts them."
    />
    <${ErrorNote} error=${state.error} retry=${state.reload} />
    ${!state.data && !state.error && html`<div class="card"><${Skeleton} lines=${6} /></div>`}
    ${
      state.data &&
      html`<ol class="steps card">
        <li class=${kind(0)}>
          <div><h2>Create a link</h2><${LinkStep} link=${own} other=${link} /></div>
        </li>
        <li class=${kind(1)}>
          <div>
            <h2>Click it</h2>
            <${ClickStep} link=${own} click=${click} reload=${state.reload} />
          </div>
        </li>
        <li class=${kind(2)}><div><h2>See it live</h2><${LiveStep} click=${click} /></div></li>
        <li class=${kind(3)}>
          <div>
            <h2>Send a test conversion</h2>
            <${ConversionStep} ...${{ click, config, conversion }} reload=${state.reload} />
          </div>
        </li>
        <li class=${kind(4)}>
          <div><h2>See it in the report</h2><${ReportStep} conversion=${conversion} /></div>
        </li>
      </ol>`
    }
    ${
      done.every(Boolean) &&
      html`<div class="note good" role="status">
        <p>That is all there is to it. <a href="/console/overview">Go to the overview</a></p>
      </div>`
    }
  `;
}

/**
 * Return what the account has: the chosen link, else its newest, the newest test click of it and the
 * newest test conversion.
 */
async function progress(chosen, signal) {
  const [links, configs] = await Promise.all([
    chosen
      ? api.get(`/api/short-links/${chosen}`, {}, signal).then((link) => ({ rows: [link] }))
      : api.get("/api/short-links", { pageSize: 1 }, signal),
    can("event_configs:read") ? api.get("/api/event-configs", {}, signal) : { rows: [] },
  ]);
  const link = links.rows[0];
  const config = configs.rows.find(({ active }) => active);
  if (!link || !can("conversions:read")) return { link, config };
  const [clicks, conversions] = await Promise.all([
    api.get("/api/clicks", { link: link.id, tests: "only", pageSize: 1 }, signal),
    api.get("/api/conversions", { link: link.id, status: "test", pageSize: 1 }, signal),
  ]);
  return { link, config, click: clicks.rows[0], conversion: conversions.rows[0] };
}

/** A link of one's own, made here. The `other` link, if there is any, will do too. */
function LinkStep({ link, other }) {
  const [open, setOpen] = useState(false);
  if (link)
    return html`<p>
      <strong>${link.internal_name}</strong> is at <${OutLink} url=${link.short_url} />
    </p>`;
  return html`
    <p>It leads wherever you like. Every click on the way is recorded.</p>
    ${
      can("links:write") &&
      html`<${Button} kind="main" icon="plus" onClick=${() => setOpen(true)}>
        Create a link
      <//>`
    }
    ${
      other &&
      html`<${Button} onClick=${() => choose(other)}>Go on with “${other.internal_name}”<//>`
    }
    ${open && html`<${LinkDialog} onClose=${() => setOpen(false)} onDone=${choose} />`}
  `;
}

function choose({ id }) {
  setQuery({ link: id });
}

function ClickStep({ link, click, reload }) {
  const [made, setMade] = useState(false);
  const [make, making, error] = useAction(async () => {
    await testClick(link);
    setMade(true);
    reload();
  });
  if (!link) return html`<p class="about">First create a link.</p>`;
  if (click)
    return html`<p>
      Clicked <${Time} at=${click.at} />: <code>click_id=${click.id}</code> <${Badge} kind="accent">test<//>
    </p>`;
  if (!can("links:write"))
    return html`<p class="about">Somebody who may change links can make a test click.</p>`;
  return html`
    <p>
      A new tab shows what your visitors see: the destination, with a <code>click_id</code> in its
      address.
    </p>
    <${Button} kind="main" busy=${making} onClick=${make}>Make a test click<//>
    ${made && html`<p class="hint" role="status">Waiting for the click…</p>`}
    <p class="hint">
      If you open ${link.short_url} yourself, that is a visitor’s click, and it counts.
    </p>
    <${ErrorNote} error=${error} />
  `;
}

/** The last new click, shown without a reload. */
function LiveStep({ click }) {
  const last = rows.value.find(({ kind }) => kind === "click")?.row;
  const device = last && [last.browser, last.os].filter((one) => one !== "unknown").join(" on ");
  return html`
    ${last && html`<p role="status">${device || "A click"}, <${Time} at=${last.at} />.</p>`}
    ${
      click
        ? html`<p>
          <a href="/console/live">Watch clicks come in</a>
        </p>`
        : !last && html`<p class="about">First make the click.</p>`
    }
  `;
}

function ConversionStep({ click, config, conversion, reload }) {
  const [create, creating, createError] = useAction(async () => {
    await api.post(
      "/api/event-configs",
      owned({ name: "Purchase", payout_type: "CPA", payout: 1 }),
    );
    reload();
  });
  const [send, sending, sendError] = useAction(async () => {
    const { event_id: id } = await api.post(`/api/event-configs/${config.id}/test-conversion`, {
      click_id: click.id,
      value: 12.5,
    });
    toast(`Test conversion ${id} is recorded`);
    reload();
  });
  if (conversion)
    return html`<p>
      Value ${format.money(conversion.value)}, sent <${Time} at=${conversion.at} />. <a href="/console/conversions/${conversion.event_id}">See it with its click</a> <${Badge} kind="accent">test<//>
    </p>`;
  if (!click) return html`<p class="about">First make the click.</p>`;
  if (!config) {
    return html`
      <p>
        An event configuration says what a conversion is, and what it pays. It has a postback key,
        which names it in every request.
      </p>
      ${
        can("event_configs:write") &&
        html`<${Button} kind="main" busy=${creating} onClick=${create}>
          Create “Purchase”
        <//>`
      }
      <${ErrorNote} error=${createError} />
    `;
  }
  if (!can("event_configs:write"))
    return html`<p class="about">
      Somebody who may change event configurations can send a test conversion.
    </p>`;
  return html`
    <p>
      Your shop or network calls this address, with the <code>click_id</code> that the visitor came
      with. Here it is that of your click.
    </p>
    <${CodeBlock}
      text="${location.origin}/api/event?pbk=${config.pbk}&click_id=${click.id}&value=12.50"
      label="the address"
    />
    <${Button} kind="main" busy=${sending} onClick=${send}>Send a test conversion<//>
    <${ErrorNote} error=${sendError} />
  `;
}

function ReportStep({ conversion }) {
  if (!conversion) return html`<p class="about">First send a conversion.</p>`;
  return html`<p>
    <a href="/console/overview?period=7d&measure=conversions&bots=include&tests=only">
      The report of your tests
    </a> has the conversion under its link, country, source and more. Other reports leave tests out.
  </p>`;
}
