/**
 * New clicks and conversions for every page: one stream of the API for all tabs of a browser.
 *
 * A browser opens six connections to a host, so tabs share one stream. The visible tab that holds a
 * lock has it, and passes its events on. A tab that is hidden gives the lock away; while all are
 * hidden there is no stream.
 */

import { signal } from "@preact/signals";
import { api, loadSession } from "console/core/api";
import { session } from "console/core/session";

const FIRST_PAUSE_MS = 2_000;
const MAX_PAUSE_MS = 60_000;
const MAX_ROWS = 100;

/** The minutes of a state, until one is known. */
export const MINUTES = 5;

/** The clicks, bots and conversions of the last minutes; null until they are known. */
export const state = signal(null);

/** The last new rows, newest first: {kind: "click" | "conversion", key, row}. */
export const rows = signal([]);

/** How many streams have begun. Feeds have all rows that were stored before. */
export const begins = signal(0);

/** Whether a stream is connected at this moment. */
export const isConnected = signal(false);

let stopCurrent = null;

/** Receive new rows of the session's account, until another account is chosen or it ends. */
export function start() {
  stop();
  stopCurrent = share(session.peek().account.id);
}

/** Close the stream, and forget its rows. */
export function stop() {
  stopCurrent?.();
  stopCurrent = null;
  state.value = null;
  rows.value = [];
  begins.value = 0;
  isConnected.value = false;
}

function share(account) {
  const name = `live:${account}`;
  const channel = new BroadcastChannel(name);
  let holding = null;
  let isSource = false;
  const tell = (message) => {
    take(message);
    channel.postMessage(message);
  };
  channel.onmessage = ({ data }) => {
    if (data.event !== "ask") take(data);
    else if (isSource && state.peek()) channel.postMessage({ event: "state", data: state.peek() });
  };
  const look = () => {
    if (document.hidden) {
      holding?.abort();
      holding = null;
      return;
    }
    if (holding) return;
    const aborting = (holding = new AbortController());
    channel.postMessage({ event: "ask" });
    const hold = async () => {
      isSource = true;
      await listen(account, tell, aborting.signal);
      isSource = false;
    };
    navigator.locks.request(name, { signal: aborting.signal }, hold).catch(() => {}); // Another tab has it still.
  };
  document.addEventListener("visibilitychange", look);
  look();
  return () => {
    document.removeEventListener("visibilitychange", look);
    holding?.abort();
    channel.close();
  };
}

/** Take a message of the stream, whichever tab has it. */
function take({ event, data }) {
  if (event === "connected") isConnected.value = data;
  // A tab that opens while another has the stream only receives its state.
  if (event === "begun" || (event === "state" && begins.peek() === 0)) begins.value += 1;
  if (event === "state") {
    state.value = data;
    isConnected.value = true;
  }
  if (event === "clicks") add(data.rows.map(ofClick));
  if (event === "conversions") add(data.rows.map(ofConversion));
}

const ofClick = (row) => ({ kind: "click", key: `click ${row.id}`, row });
const ofConversion = (row) => ({ kind: "conversion", key: `conversion ${row.event_id}`, row });

/** Add rows: each once, and a conversion that has settled in the place of its pending one. */
function add(added) {
  const known = new Map(rows.peek().map((one) => [one.key, one]));
  for (const one of added) {
    if (!(known.has(one.key) && one.row.attribution === "pending")) known.set(one.key, one);
  }
  rows.value = [...known.values()]
    .sort((one, other) => Date.parse(other.row.at) - Date.parse(one.row.at))
    .slice(0, MAX_ROWS);
}

/**
 * Add what the feeds have of the last minutes. Read after a stream has begun, they miss nothing
 * that it does not tell.
 */
export async function addRecent(signal) {
  const query = { pageSize: MAX_ROWS };
  const [clicks, conversions] = await Promise.all([
    api.get("/api/clicks", query, signal),
    api.get("/api/conversions", query, signal),
  ]);
  if (signal.aborted) return false;
  const since = Date.now() - (state.peek()?.minutes ?? MINUTES) * 60_000;
  const found = [
    ...clicks.rows.map((row) => ofClick({ ...row, referrer: row.referrer_host })),
    ...conversions.rows.map(ofConversion),
  ];
  add(found.filter(({ row }) => Date.parse(row.at) >= since));
  return true;
}

/**
 * Hold one stream after the other, until `signal` is aborted, as it is when the session has no
 * access.
 */
async function listen(account, tell, signal) {
  let pause = FIRST_PAUSE_MS;
  while (!signal.aborted) {
    let begun = false;
    const end = await oneStream(account, signal, (message) => {
      if (!begun) tell({ event: "begun" });
      begun = true;
      pause = FIRST_PAUSE_MS;
      tell(message);
    });
    if (signal.aborted) return;
    tell({ event: "connected", data: false });
    // Of a stream that is refused the browser does not say why: this tab's session may have ended,
    // or
    // be of another account, by what somebody did in another tab.
    if (end === "access_ended" || !begun) await loadSession().catch(() => {});
    if (signal.aborted) return;
    // Not all browsers at once after a restart.
    await wait(pause * (0.5 + Math.random()), signal);
    pause = Math.min(2 * pause, MAX_PAUSE_MS);
  }
}

/** Hold a stream, and return why it ended: what its last event says, or "lost". */
function oneStream(account, signal, tell) {
  return new Promise((done) => {
    const source = new EventSource(`/api/live?accountId=${account}`);
    const finish = (reason) => {
      source.close();
      done(reason);
    };
    for (const event of ["state", "clicks", "conversions"]) {
      source.addEventListener(event, ({ data }) => tell({ event, data: JSON.parse(data) }));
    }
    source.addEventListener("end", ({ data }) => finish(JSON.parse(data).reason));
    source.addEventListener("error", () => finish("lost"));
    signal.addEventListener("abort", () => finish("left"), { once: true });
  });
}

function wait(ms, signal) {
  return new Promise((done) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), done()), { once: true });
  });
}
