/** An import, from its file over the dry run to the cut-over. */

import { useEffect, useState } from "preact/hooks";
import { api, owned } from "console/core/api";
import { format } from "console/core/format";
import { useAction, useLoad } from "console/core/hooks";
import { html } from "console/core/html";
import { Badge, Button, ErrorNote, PageHeader, Skeleton } from "console/core/parts";
import { navigate } from "console/core/route";
import { can } from "console/core/session";
import { queryText } from "console/core/url";
import { ConfirmDeletion, ConfirmDialog } from "console/parts/dialog";
import { FileField } from "console/parts/file";
import { Check } from "console/imports/check";
import { CutOver, Rows } from "console/imports/rows";

const BACK = { href: "/console/imports", label: "Imports" };
const WORKING = ["reading", "checking", "running", "undoing", "comparing"];
const CHECKABLE = ["uploaded", "checked", "failed"];
/** [path, label, states, kind] of the steps besides the dry run. */
const STEPS = [
  ["run", "Import", ["checked"], "main"],
  ["pause", "Pause", ["running"]],
  ["resume", "Carry on", ["paused"], "main"],
  ["cut-over-check", "Check the cut-over", ["done"], "main"],
  ["undo", "Take it back", ["done", "cancelled", "failed", "undone"], "danger"],
  ["cancel", "Cancel", [...CHECKABLE, "created", "reading", "checking", "running", "paused"]],
];
const POLL_MS = 1_000;
const RETRY_MS = 10_000;

/** The page. */
export default function Import({ params: { id } }) {
  const path = `/api/imports/${id}`;
  const load = useLoad((signal) => api.get(path, {}, signal), [path]);
  const { data: one, error: lost, loading, reload } = load;
  const [asking, setAsking] = useState(null);
  useEffect(() => {
    const isAwaited = !loading && WORKING.includes(one?.state);
    const timer = isAwaited && setTimeout(reload, lost ? RETRY_MS : POLL_MS);
    return () => clearTimeout(timer);
  }, [one, loading]);
  const act = (step, body) => api.post(`${path}/${step}`, body).then(reload);
  const [run, busy, error] = useAction(act);
  const note = html`<${ErrorNote} error=${error ?? lost} retry=${reload} />`;
  if (!one)
    return html`
      <${PageHeader} title="Import" back=${BACK} />
      ${lost ? note : html`<${Skeleton} lines=${6} />`}
    `;
  const mayWrite = can("links:write");
  const steps = STEPS.filter(([, , states]) => mayWrite && states.includes(one.state));
  const isCheckable = mayWrite && CHECKABLE.includes(one.state);
  const close = () => setAsking(null);
  return html`
    <${PageHeader} title="Import from ${one.source_label} ${one.instance}" back=${BACK}>
      ${steps.map(
        ([step, label, , kind]) =>
          html`<${Button}
            ...${{ kind, busy }}
            onClick=${() => (step === "undo" ? setAsking(step) : run(step))}
          >
            ${label}
          <//>`,
      )}
      ${
        mayWrite &&
        !WORKING.includes(one.state) &&
        html`<${Button} kind="danger" onClick=${() => setAsking("delete")}>Delete<//>`
      }
    <//>
    <p>
      <span role="status"><${Badge}>${one.state}<//></span> ${format.number(one.position)} of${" "}
      ${one.total === null ? "…" : format.number(one.total)} rows
      ${one.visits > 0 && `, ${format.number(one.visits_done)} of ${format.number(one.visits)} visits`}
    </p>
    ${one.error && html`<p class="error">${one.error}</p>`} ${note}
    ${
      (isCheckable || (mayWrite && one.state === "created")) &&
      html`<${FileField} path="${path}/file${queryText(owned({}))}" onSent=${reload} />`
    }
    ${
      isCheckable &&
      one.file_bytes > 0 &&
      html`<${Check} key=${one.format + one.file_bytes} act=${run} ...${{ one, path, busy }} />`
    }
    ${one.state === "done" && html`<${CutOver} one=${one} path=${path} />`}
    ${Object.keys(one.counts).length > 0 && html`<${Rows} one=${one} path="${path}/rows" />`}
    ${asking === "undo" && html`<${UndoDialog} onConfirm=${() => act("undo")} onClose=${close} />`}
    ${asking === "delete" && html`<${DeleteDialog} path=${path} onClose=${close} />`}
  `;
}

function UndoDialog(given) {
  return html`<${ConfirmDialog} title="Take the import back?" action="Take it back" ...${given}>
    <p>
      Its links that nobody has changed or opened since are deleted, and all of its visits leave
      the reports. What stays is listed as left.
    </p>
  <//>`;
}

function DeleteDialog({ path, onClose }) {
  const onDone = () => navigate(BACK.href);
  return html`<${ConfirmDeletion}
    title="Delete the import?"
    action="Delete"
    done="The import is deleted"
    ...${{ path, onDone, onClose }}
  >
    <p>Its links stay, but it can no longer be taken back, and its rows are gone.</p>
  <//>`;
}
