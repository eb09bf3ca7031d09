/** Lists that change by themselves. */

import { useEffect } from "preact/hooks";

/**
 * Load again and again while `wanted`, `ms` milliseconds after each answer, as long as the page is
 * seen.
 *
 * `load` is the answer of `useLoad`. A slow answer is waited for: to ask again would start it anew.
 */
export function usePoll({ loading, reload }, wanted, ms) {
  const waits = wanted && !loading;
  useEffect(() => {
    const timer = waits && setInterval(() => document.hidden || reload(), ms);
    return () => clearInterval(timer);
  }, [waits, ms]);
}
