/** Lists that change by themselves. */

import { useEffect } from "preact/hooks";

/**
 * Reload `ms` milliseconds after each answer, while `wanted` and the page is visible.
 *
 * The first argument is the answer of `useLoad`. Another request would restart a slow one.
 */
export function usePoll({ loading, reload }, wanted, ms) {
  const waits = wanted && !loading;
  useEffect(() => {
    const timer = waits && setInterval(() => document.hidden || reload(), ms);
    return () => clearInterval(timer);
  }, [waits, ms]);
}
