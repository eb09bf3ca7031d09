/** What stands above a report: its days, the comparison, the steps, and bots. */

import { html } from "console/core/html";
import { Button, Choice } from "console/core/parts";
import { route, setQuery } from "console/core/route";
import { session, today } from "console/core/session";
import { DayInput } from "console/parts/day-input";
import { DEFAULT_PERIOD, PERIODS, isRolling } from "console/reports/periods";
import { BOTS, COMPARISONS, LAST_DAYS, intervalsFor } from "console/reports/query";
import { daysText, zoneText } from "console/reports/words";

/** Return whether there is anything after these days yet. */
export function canStep({ to }) {
  return to < today();
}

/** The days, their comparison, steps and bots. */
export function Controls({ report, answer, step }) {
  const { from, to } = report.days;
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
    ${choice("interval", "Steps", intervalsFor(report.days))}
    ${choice("bots", "Bots", BOTS)}
    <span class="hint">
      Days of ${answer.data ? zoneText(answer.data) : session.value.account.time_zone}
    </span>
  </div>`;
}
