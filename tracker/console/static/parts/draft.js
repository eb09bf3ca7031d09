/** Drafts: what was typed into a form outlives a reload, in this tab and until it is sent. */

import { useState } from "preact/hooks";
import { session } from "console/core/session";

/**
 * Keep the fields of a form as a draft. `name` tells drafts apart, such as "link:new".
 *
 * Return {fields, set, change, dirty, clear, reset}: `set("slug")` is a handler for the field `slug`,
 * `change({slug, tags})` changes several, `clear()` forgets the draft, and `reset(fields)` has what
 * was saved in its place. Secrets do not belong here.
 */
export function useDraft(name, initial) {
  const key = `draft:${session.value?.account.id}:${name}`;
  const [fields, setFields] = useState(() => ({ ...initial, ...stored(key) }));
  const change = (changes) =>
    setFields((old) => {
      const changed = { ...old, ...changes };
      store(key, changed);
      return changed;
    });
  const set = (field) => (value) => change({ [field]: value });
  const reset = (saved) => {
    sessionStorage.removeItem(key);
    setFields(saved);
  };
  const clear = () => reset(initial);
  const dirty = Object.keys(fields).some((field) => !same(fields[field], initial[field]));
  return { fields, set, change, dirty, clear, reset };
}

function stored(key) {
  try {
    return JSON.parse(sessionStorage.getItem(key)) ?? {};
  } catch {
    return {};
  }
}

/** Store a draft. A full store keeps the form usable, only without a draft. */
function store(key, fields) {
  try {
    sessionStorage.setItem(key, JSON.stringify(fields));
  } catch {
    sessionStorage.removeItem(key);
  }
}

function same(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}
