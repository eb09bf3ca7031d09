/** Who is signed in, and what the person may do in the account. */

import { signal } from "@preact/signals";
import { todayIn } from "console/core/dates";

/** The session as the API returns it; null when signed out, undefined until it is known. */
export const session = signal(
  document.documentElement.dataset.session === "yes" ? undefined : null,
);

/** Whether the session ended by itself, which the sign-in page then says. */
export const sessionEnded = signal(false);

/** Return whether the role of the session has a scope, such as "links:write". */
export function can(scope) {
  const scopes = session.value?.scopes;
  if (scopes === undefined) return false;
  return scopes === null || scopes.includes(scope) || scopes.includes(`${scope.split(":")[0]}:*`);
}

/** Return the day that it is in the time zone of the account. */
export function today() {
  return todayIn(session.value.account.time_zone);
}
