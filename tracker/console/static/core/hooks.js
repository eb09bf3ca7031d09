/** Hooks: loading, actions, shortcuts and titles; and whether the page is printed. */

import { options } from "preact";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { signal } from "@preact/signals";

/**
 * Load something, and again whenever `keys` change. Old data stays until new data is there.
 *
 * Return {data, error, loading, reload, set}. A load that was overtaken by another is aborted.
 */
export function useLoad(load, keys) {
  const [state, setState] = useState({ loading: true });
  const [attempt, setAttempt] = useState(0);
  const reached = useRef(0);
  useEffect(() => void (reached.current = 0), keys);
  useEffect(() => {
    const aborting = new AbortController();
    let timer;
    setState((old) => ({ data: old.data, loading: true, progress: reached.current }));
    const end = (state) => {
      reached.current = 0;
      setState((old) => ({ data: old.data, ...state, loading: false }));
    };
    const fail = (error) => {
      if (!(error.progress > reached.current)) return end({ error });
      // What is counted is kept: the next request goes on from there.
      reached.current = error.progress;
      setState((old) => ({ ...old, progress: error.progress }));
      timer = setTimeout(() => setAttempt((number) => number + 1), error.retryAfter * 1000);
    };
    load(aborting.signal)
      .then((data) => aborting.signal.aborted || end({ data }))
      .catch((error) => aborting.signal.aborted || fail(error));
    return () => {
      clearTimeout(timer);
      aborting.abort();
    };
  }, [...keys, attempt]);
  const reload = useCallback(() => setAttempt((number) => number + 1), []);
  const set = useCallback((change) => setState((old) => ({ ...old, data: change(old.data) })), []);
  return { ...state, reload, set };
}

/**
 * Run one action at a time: return [run, busy, error]. `run` returns the answer, or undefined after
 * an error, which stays until the next run.
 */
export function useAction(act) {
  const [state, setState] = useState({ busy: false });
  const running = useRef(false);
  const run = async (...given) => {
    if (running.current) return undefined;
    running.current = true;
    setState({ busy: true });
    try {
      const answer = await act(...given);
      setState({ busy: false });
      return answer ?? true;
    } catch (error) {
      setState({ busy: false, error });
      return undefined;
    } finally {
      running.current = false;
    }
  };
  return [run, state.busy, state.error];
}

/** Return `value` after it has not changed for `ms` milliseconds. */
export function useSettled(value, ms = 250) {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}

/** Shortcuts that the page on screen has, by key; the help dialog lists them. */
export const shortcuts = signal({});

/** Give the page a shortcut while it is shown, from its first painting on. */
export function useShortcut(key, label, run) {
  useLayoutEffect(() => {
    shortcuts.value = { ...shortcuts.peek(), [key]: { label, run } };
    return () => {
      const { [key]: _, ...others } = shortcuts.peek();
      shortcuts.value = others;
    };
  }, [key, label, run]);
}

/** Set the title of the document while a page is shown. */
export function useTitle(title) {
  useEffect(() => {
    document.title = `${title} · Tracker`;
  }, [title]);
}

/** Whether the page is printed: true from before the browser lays it out for paper. */
export const printing = signal(false);

/** Set it, and render at once: the browser does not wait for what is rendered later. */
function setPrinting({ type }) {
  const { debounceRendering } = options;
  options.debounceRendering = (render) => render();
  printing.value = type === "beforeprint";
  options.debounceRendering = debounceRendering;
}

for (const type of ["beforeprint", "afterprint"]) globalThis.addEventListener?.(type, setPrinting);
