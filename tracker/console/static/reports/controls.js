/** What stands above a report: its days, the comparison, the steps, and bots. */

import { useCallback } from "preact/hooks";
import { format } from "console/core/format";
import { useShortcut } from "console/core/hooks";
import { html } from "console/core/html";
import { Button, Choice } from "console/core/parts";
import { route, setQuery } from "console/core/route";
import { session, today } from "console/core/session";
import { DayInput } from "console/parts/day-input";
import { DEFAULT_PERIOD, PERIODS, isRolling, shifted } from "console/reports/periods";
import { BOTS, COMPARISONS, LAST_DAYS, intervalsFor, readReport } from "console/reports/query";
import { daysText, zoneText } from "console/reports/words";

/** Return whether there is anything after these days yet. */
function canStep({ to }) {
  return to < today();
}

/** Return the function that shows the time before (-1) or after (1). Arrow keys call it too. */
export function useSteps() {
  const step = useCallback((direction) => {
    const { days } = readReport(route.peek().query, { today: today(), dimensions: [] });
    if (direction < 0 || canStep(days))
      setQuery({ period: null, ...shifted(days, direction, today()) });
  }, []);
  useShortcut(
    "ArrowLeft",
    "Show the time before",
    useCallback(() => step(-1), []),
  );
  useShortcut(
    "ArrowRight",
    "Show the time after",
    useCallback(() => step(1), []),
  );
  return step;
}

/** The days, their comparison and bots; the steps of a series unless `series` is false. */
export function Controls({ report, answer, step, series = true }) {
  const { from, to } = report.days;
  // The foot of the page names the account's zone; a report may have days of an earlier one too.
  const zone = answer.data ? zoneText(answer.data) : session.value.account.time_zone;
  const pick = (name, value) => setQuery({ [name]: value || null }, { replace: false });
  const period = (value) =>
    setQuery(
      value === "own"
        ? { period: null, from, to }
        : { period: value === DEFAULT_PERIOD ? null : value, from: null, to: null },
      { replace: false },
    );
  const choice = (name, label, options) => {
    const value = route.value.query[name];
    const chosen = options.some(([one]) => one === value) ? value : "";
    return html`<${Choice}
      ...${{ label, options, value: chosen }}
      onInput=${(one) => pick(name, one)}
    />`;
  };
  const own = (name) => (value) =>
    value && setQuery({ period: null, from, to, [name]: value }, { replace: false });
  return html`<div class="filters report-controls">
    <${Button} icon="back" label="The time before" onClick=${() => step(-1)} />
    <${Choice}
      label="Period"
      value=${report.period}
      options=${[...Object.entries(PERIODS), ["own", "Own dates"]]}
      onInput=${period}
    />
    <${Button}
      icon="forward"
      label="The time after"
      disabled=${!canStep(report.days)}
      onClick=${() => step(1)}
    />
    ${
      report.period === "own"
        ? html`
          <label class="row">
            From <${DayInput} value=${from} max=${to} onDay=${own("from")} />
          </label>
          <label class="row">
            to <${DayInput} value=${to} min=${from} onDay=${own("to")} />
          </label>
        `
        : html`<span class="hint">${daysText(report.days)}</span>`
    }
    ${isRolling(report.period) && choice("until", "Last day", LAST_DAYS)}
    ${choice("compare", "Comparison", COMPARISONS)}
    ${series && choice("interval", "Steps", intervalsFor(report.days))}
    ${choice("bots", "Bots", BOTS)}
    ${zone !== session.value.account.time_zone && html`<span class="hint">Days of ${zone}</span>`}
    ${
      answer.progress > 0 &&
      html`<span class="hint" role="status">
        ${format.percent(Math.floor(answer.progress * 100) / 100)} is counted. The rest follows.
      </span>`
    }
  </div>`;
}
