/** Dialogs: a window above the page that takes the focus and gives it back. */

import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { api } from "console/core/api";
import { TextField } from "console/core/fields";
import { useAction } from "console/core/hooks";
import { html } from "console/core/html";
import { Button, ErrorNote } from "console/core/parts";
import { toast } from "console/core/toasts";

const FIRST = [
  "[data-focus]",
  ".dialog-body :is(input, select, textarea):not(:disabled)",
  ".dialog-foot button",
];

/**
 * A dialog, shown as long as it is rendered. Escape and the button in its corner call `onClose`.
 *
 * With `onSubmit` its content is a form. `footer` holds its buttons, the main one last. A dialog with
 * an `action` has "Cancel" and a main button of that text, which may be `disabled`, and one that calls
 * `discard` for a draft. While `busy` it cannot be closed. The focus goes to the element with
 * `data-focus`, else to the first field. `wide` makes it wider; "page" as wide as a page.
 */
export function Dialog(props) {
  const { title, about, footer, onClose, onSubmit, busy, wide, children } = props;
  const dialog = useRef(null);
  const id = useId();
  useLayoutEffect(() => showModally(dialog.current), []);
  const close = (event) => {
    event?.preventDefault();
    if (!busy) onClose();
  };
  const submit = (event) => {
    event.preventDefault();
    if (!busy) onSubmit();
  };
  const content = html`
    <div class="dialog-head">
      <div><h2 id=${id}>${title}</h2>${about && html`<p class="about">${about}</p>`}</div>
      <${Button} kind="quiet" icon="close" label="Close" disabled=${busy} onClick=${close} />
    </div>
    <div class="dialog-body">${children}</div>
    ${footer && html`<div class="dialog-foot">${footer}</div>`}
    ${props.action && html`<div class="dialog-foot"><${Buttons} ...${props} /></div>`}
  `;
  return html`<dialog
    ref=${dialog}
    class=${wide === true ? "wide" : wide}
    aria-labelledby=${id}
    onCancel=${close}
  >
    ${onSubmit ? html`<form onSubmit=${submit}>${content}</form>` : html`<div>${content}</div>`}
  </dialog>`;
}

function Buttons({ action, discard, disabled, busy, onClose }) {
  return html`
    ${
      discard &&
      html`<${Button} kind="quiet" disabled=${busy} onClick=${discard}>Discard the draft<//>`
    }
    <${Button} disabled=${busy} onClick=${onClose}>Cancel<//>
    <${Button} kind="main" type="submit" ...${{ busy, disabled }}>${action}<//>
  `;
}

/** Show a dialog; return a function that gives the focus back to where it was. */
function showModally(dialog) {
  const opener = document.activeElement;
  dialog.showModal();
  FIRST.map((selector) => dialog.querySelector(selector))
    .find(Boolean)
    ?.focus();
  return () => {
    dialog.close();
    if (opener?.isConnected) opener.focus({ preventScroll: true });
  };
}

/**
 * A dialog that asks before something happens. `onConfirm` may be async; its error is shown here,
 * and the dialog closes after it succeeded.
 *
 * `typed` is a text that has to be typed first, for what cannot be undone.
 */
export function ConfirmDialog({
  title,
  action,
  kind = "danger",
  typed = "",
  onConfirm,
  onClose,
  children,
}) {
  const [text, setText] = useState("");
  const [confirm, busy, error] = useAction(async () => {
    await onConfirm();
    onClose();
  });
  const footer = html`
    <${Button} data-focus=${typed ? undefined : true} disabled=${busy} onClick=${onClose}>Cancel<//>
    <${Button} kind="main ${kind}" type="submit" busy=${busy} disabled=${text.trim() !== typed}>
      ${action}
    <//>
  `;
  return html`<${Dialog} ...${{ title, footer, onClose, busy }} onSubmit=${confirm}>
    <div class="stack">${children}</div>
    ${
      typed &&
      html`<${TextField}
        label=${html`Type <strong>${typed}</strong> to go on`}
        value=${text}
        onInput=${setText}
      />`
    }
    <${ErrorNote} error=${error} />
  <//>`;
}

/**
 * A dialog that asks before what `path` names is deleted. It then says `done`, and calls `onDone`.
 */
export function ConfirmDeletion({ path, done, onDone, ...others }) {
  const remove = async () => {
    await api.delete(path);
    toast(done);
    onDone();
  };
  return html`<${ConfirmDialog} onConfirm=${remove} ...${others} />`;
}
