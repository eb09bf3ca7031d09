/** Messages that are on screen for some seconds. */

import { signal } from "@preact/signals";

const TOAST_MS = 6_000;
const ACTION_MS = 10_000;

let lastToast = 0;

/** The messages on screen, newest last. */
export const toasts = signal([]);

/** Show a message for some seconds. `action` is {label, run}, such as an undo. */
export function toast(text, { kind = "info", action } = {}) {
  const id = ++lastToast;
  toasts.value = [...toasts.peek().slice(-2), { id, text, kind, action }];
  setTimeout(() => dismissToast(id), action ? ACTION_MS : TOAST_MS);
}

/** Remove a message. */
export function dismissToast(id) {
  toasts.value = toasts.peek().filter((one) => one.id !== id);
}

/** Copy text, and say so. Return whether the browser did it. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    toast("The browser did not allow copying.", { kind: "bad" });
    return false;
  }
  toast("Copied");
  return true;
}
