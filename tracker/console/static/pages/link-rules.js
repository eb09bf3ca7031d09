/** The rules of a link: the editor, the tester beside it, and earlier versions. */

import { useState } from "preact/hooks";
import { api, loadSession } from "console/core/api";
import { format } from "console/core/format";
import { useAction, useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { Button, ErrorNote, PageHeader, Skeleton, Time } from "console/core/parts";
import { can, session } from "console/core/session";
import { toast } from "console/core/toasts";
import { useDraft } from "console/parts/draft";
import { Conflict } from "console/links/conflict";
import { RulesEditor } from "console/rules/editor";
import { RulesSummary } from "console/rules/summary";
import { Tester } from "console/rules/tester";
import { placeText, rulesOf, sentRules } from "console/rules/words";

const MOST_VERSIONS = 50;
const startOf = (link) => ({ ...rulesOf(link), revision: link.revision });

/** The page. */
export default function LinkRules({ params: { id } }) {
  const link = useLoad((signal) => api.get(`/api/short-links/${id}`, {}, signal), [id]);
  return html`
    <${PageHeader}
      title="Rules"
      about="The first rule whose conditions all hold decides where a visitor is led."
      back=${{ href: `/console/links/${id}`, label: link.data?.internal_name ?? "The link" }}
    />
    <${ErrorNote} error=${link.error} retry=${link.reload} />
    ${!link.data && !link.error && html`<${Skeleton} lines=${6} />`}
    ${link.data && html`<${Rules} link=${link.data} setLink=${link.set} />`}
  `;
}

function Rules({ link, setLink }) {
  const path = `/api/short-links/${link.id}`;
  const earlier = (signal) => api.get(`${path}/rules/history`, { pageSize: MOST_VERSIONS }, signal);
  const history = useLoad(earlier, [link.id]);
  const { fields, change, dirty, clear, reset } = useDraft(`rules:${link.id}`, startOf(link));
  const [warnings, setWarnings] = useState([]);
  const took = async (saved) => {
    reset(startOf(saved));
    setWarnings(saved.warnings ?? []);
    setLink(() => saved);
    // From its first rule on, reports of the account have more dimensions.
    if (!session.value.account.decides) await loadSession();
    const versions = await earlier();
    history.set(() => versions);
    return versions.rows[0];
  };
  const [restore, restoring, failed] = useAction(async ({ version }) => {
    await took(await api.post(`${path}/rules/restore`, { version }));
    toast("Restored");
  });
  const [save, busy, error] = useAction(async (over = fields) => {
    const replaced = await took(await api.patch(path, sentRules(fields, link), over.revision));
    toast("Saved", { action: { label: "Undo", run: () => restore(replaced) } });
  });
  const wrong = (place) => dirty && error?.field.startsWith(place) && error.rule;
  const isOutdated = dirty && error?.code === "changed_meanwhile";
  const fixed = !can("links:write") || link.archived;
  return html`
    <div class="rules-columns">
      <fieldset disabled=${fixed}>
        <legend class="visually-hidden">Rules</legend>
        <${RulesEditor} ...${{ link, fields, change, wrong }} />
        ${warnings.map(
          (one) => html`<div class="note warning" role="status">
            <p>${placeText(one.path)}: ${one.message.replace(/rules\[\d+\]/g, placeText)}</p>
          </div>`,
        )}
        ${
          isOutdated &&
          html`<${Conflict}
            base=${{ id: link.id, revision: fields.revision }}
            error=${error}
            onMine=${save}
            onTheirs=${took}
          />`
        }
        <${ErrorNote} error=${(dirty && !isOutdated && error) || failed} />
        ${
          dirty &&
          html`<div class="bulk">
            <span>Not saved yet</span>
            <${Button} kind="quiet" disabled=${busy} onClick=${clear}>Discard<//>
            <${Button} kind="main" busy=${busy} onClick=${() => save()}>Save<//>
          </div>`
        }
      </fieldset>
      <${Tester} link=${link} rules=${fields} />
    </div>
    <${History} ...${{ history, restore: !fixed && restore, restoring }} />
  `;
}

function History({ history, restore, restoring }) {
  return html`<section class="card">
    <h2>History</h2>
    <${ErrorNote} error=${history.error} retry=${history.reload} />
    ${history.data?.rows.length === 0 && html`<p class="about">These are the first rules.</p>`}
    <ol class="history">
      ${history.data?.rows.map(
        (one) => html`<li key=${one.version}>
          <div class="row between">
            <span>
              <strong>${one.actor?.name ?? "An import"}</strong> replaced these${" "}
              <${Time} at=${one.at} />
            </span>
            ${
              restore &&
              html`<${Button}
                label="Restore what was replaced ${format.time(one.at)}"
                busy=${restoring}
                onClick=${() => restore(one)}
              >
                Restore
              <//>`
            }
          </div>
          <${RulesSummary} link=${one} />
        </li>`,
      )}
    </ol>
  </section>`;
}
