/** The clicks of the last minutes, in the head of every page. */

import { useEffect } from "preact/hooks";
import { format } from "console/core/format";
import { html } from "console/core/html";
import { isConnected, start, state, stop } from "console/live/stream";

/** The count. It says so if clicks are stored late, or nothing is heard. */
export function LiveCount() {
  useEffect(() => {
    start();
    return stop;
  }, []);
  const now = state.value;
  if (!now) return null;
  const late = now.behindSeconds > 0 && `stored ${format.count(now.behindSeconds, "second")} late`;
  const about =
    late ||
    (isConnected.value
      ? `${format.count(now.clicks, "click")} in ${now.minutes} minutes`
      : "connecting again");
  return html`<a
    class="live-count ${late || !isConnected.value ? "late" : ""}"
    href="/console/live"
    title=${about}
    aria-label="Live: ${about}"
  >
    ${format.compact(now.clicks)} now${late && html` <span class="hint">${late}</span>`}
  </a>`;
}
