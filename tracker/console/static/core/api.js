/** The client of the API. */

import { format } from "console/core/format";
import { session, sessionEnded } from "console/core/session";
import { queryText } from "console/core/url";

const TIMEOUT_MS = 15_000;

/** Requests in flight that may renew the session, and the number of all such requests so far. */
const changing = new Set();
let changes = 0;
const CHANGING = /^\/api\/session(\/|$)/;

/**
 * An error answer, or no answer at all (`status` 0). `text` is the API's, `words` are the console's
 * for people, if it has any. The message adds when to try again.
 */
export class ApiError extends Error {
  constructor(status, code, text, { retryAfter = 0, progress = 0, words = "" } = {}) {
    super(
      (words || text) + (retryAfter ? ` Try again in ${format.count(retryAfter, "second")}.` : ""),
    );
    this.status = status;
    this.code = code;
    this.text = text;
    this.field = fieldAndRule(text)[0];
    /** What is wrong with the field, without its name. */
    this.rule = words ? this.message : fieldAndRule(text)[1];
    this.retryAfter = retryAfter;
    /** The fraction of a report that is counted and cached, from 0 to 1. */
    this.progress = progress;
  }

  /** Return whether the same request may succeed later. */
  get mayPass() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/** Return the parts of an error's text, such as "slug: already taken". The field may be "". */
function fieldAndRule(text) {
  const [, field = "", rule = text] = /^([\w .[\]-]+): (.*)$/s.exec(text) ?? [];
  return [field, rule];
}

/** The client of the API. Every function returns the parsed answer, or throws an ApiError. */
export const api = {
  get: (path, query, signal) => request("GET", path, { query: owned(query), signal }),
  post: (path, body = {}, { signal, timeout } = {}) =>
    request("POST", path, { body, signal, timeout }),
  put: (path, body = {}) => request("PUT", path, { body }),
  patch: (path, body = {}, revision) => request("PATCH", path, { body, revision }),
  delete: (path) => request("DELETE", path, { body: {} }),
};

/** Return fields together with the account of the session. */
export function owned(fields) {
  const account = session.value?.account?.id;
  return account ? { accountId: account, ...fields } : { ...fields };
}

async function request(method, path, options) {
  return (await send(method, path, options)).json().catch(() => null);
}

/** Send a request of the API, and return the answer as it is. Throws an ApiError if it is one. */
export async function send(method, path, options) {
  const sent = sendOnce(method, path, options);
  if (method !== "GET" && CHANGING.test(path)) {
    changing.add(sent);
    changes += 1;
    sent.catch(() => {}).finally(() => changing.delete(sent));
  }
  try {
    return await sent;
  } catch (error) {
    if (!(await isStillSignedIn(path, error))) throw error;
    return sendOnce(method, path, options);
  }
}

async function sendOnce(method, path, { query, body, signal, revision, timeout = TIMEOUT_MS }) {
  const late = AbortSignal.timeout(timeout);
  const answer = await fetched(path + queryText(query), {
    method,
    headers: {
      ...(body && { "Content-Type": "application/json" }),
      ...(revision && { "If-Match": `"${revision}"` }),
    },
    body: body && JSON.stringify(body),
    signal: signal ? AbortSignal.any([signal, late]) : late,
    credentials: "same-origin",
    redirect: "error",
  });
  if (answer.ok) return answer;
  const error = await errorOf(answer);
  // Another tab has switched to another account.
  if (error.status === 403 && error.field === "accountId") location.reload();
  throw error;
}

/** Return the error that an answer is. */
export async function errorOf(answer) {
  const { status, headers } = answer;
  const value = await answer.json().catch(() => null);
  const code = headers.get("X-Error-Code") ?? "";
  const text = value?.error ?? `The service answered ${status}.`;
  const [field, rule] = fieldAndRule(text);
  const words = await import("console/parts/errors").then(
    ({ wordsFor }) => wordsFor({ code, field, rule }),
    () => "",
  );
  const retryAfter = Number(headers.get("Retry-After") ?? 0);
  return new ApiError(status, code, text, {
    retryAfter,
    progress: Number(headers.get("X-Report-Progress") ?? 0),
    words,
  });
}

async function fetched(url, options) {
  try {
    return await fetch(url, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    const late = error.name === "TimeoutError";
    throw new ApiError(
      0,
      "",
      late ? "The service did not answer." : "The service cannot be reached.",
    );
  }
}

/** Return whether the session goes on although it was refused: it may be another one meanwhile. */
async function isStillSignedIn(path, error) {
  if (error.status !== 401 || !session.value || CHANGING.test(path)) return false;
  await loadSession();
  return Boolean(session.value);
}

/**
 * Ask the API who is signed in, and set `session`. An unreachable service leaves it unchanged.
 *
 * A request may renew the session, as that which changes the password does. So nothing is asked
 * with the old cookie, and an answer to the old one does not sign out.
 */
export async function loadSession() {
  while (changing.size) await Promise.allSettled(changing);
  const before = changes;
  try {
    session.value = await api.get("/api/session");
  } catch (error) {
    if (error.status !== 401) throw error;
    if (changes !== before) return loadSession();
    sessionEnded.value = true;
    session.value = null;
  }
}
