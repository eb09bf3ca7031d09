/** Who is signed in, and what the person may do in the account. */

import { effect, signal } from "@preact/signals";
import { knownZone, todayIn } from "console/core/dates";
import { writeMoneyIn, writeTimesIn } from "console/core/format";

/** The session as the API returns it; null when signed out, undefined until it is known. */
export const session = signal(
  document.documentElement.dataset.session === "yes" ? undefined : null,
);

// Times stand beside days, which are the account's.
effect(() => writeTimesIn(session.value?.account.time_zone));
effect(() => writeMoneyIn(session.value?.account.currency ?? undefined));

/** Whether the session ended by itself, which the sign-in page then says. */
export const sessionEnded = signal(false);

/** Return whether the role of the session has a scope, such as "links:write". */
export function can(scope) {
  const scopes = session.value?.scopes;
  if (scopes === undefined) return false;
  return scopes === null || scopes.includes(scope) || scopes.includes(`${scope.split(":")[0]}:*`);
}

/** Return whether the reader is not limited to links of some tags. */
export function seesAll() {
  return !session.value?.tags.length;
}

/**
 * Return the day that it is in the account; in a time zone unknown here, as the API told. After a
 * change of the zone it can be a day that clocks do not show yet.
 */
export function today() {
  const { time_zone, today: told } = session.value.account;
  const shown = knownZone(time_zone) === time_zone ? todayIn(time_zone) : told;
  return shown > told ? shown : told;
}
