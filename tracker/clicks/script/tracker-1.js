// Keeps the click of a landing page, and tells of its conversions and of consent.
(() => {
  const { dataset: data, src } = document.currentScript;
  const origin = new URL(src).origin;
  const key = "tracker";

  let kept = {};
  try {
    kept = { ...JSON.parse(localStorage.getItem(key)) };
  } catch {
    // Without storage a click lasts as long as its page.
  }
  let { until, consent } = kept;
  const mayKeep = () =>
    data.consent === "required" ? consent === "granted" : consent !== "denied";

  const sent = new URLSearchParams(location.search).get(data.parameter || "click_id");
  const arrived = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(sent) ? sent : undefined;
  let id = arrived || (mayKeep() && until > Date.now() ? kept.id : undefined);
  let told = id === kept.id ? consent : undefined; // the consent of this click that the service knows

  // Functions that send what waits; as a beacon once the page is left.
  const waiting = new Set();
  addEventListener("pagehide", () => waiting.forEach((run) => run(true)));

  // Text needs no preflight.
  const post = async (path, body, leaving) => {
    if (leaving && navigator.sendBeacon(origin + path, body)) return {};
    const signal = AbortSignal.timeout?.(10_000);
    const options = { method: "POST", body, credentials: "omit", keepalive: true, signal };
    const answer = await fetch(origin + path, options);
    if (answer.status === 429 || answer.status >= 500) throw answer;
    return answer.json();
  };

  // After a failure it is sent once more. `fields` says what is true by then.
  const send = async (path, fields, leaving) => {
    try {
      return await post(path, JSON.stringify(fields()), leaving);
    } catch {
      const left = await new Promise((resolve) => {
        waiting.add(resolve);
        setTimeout(resolve, 3_000);
      });
      return post(path, JSON.stringify(fields()), left).catch(() => ({}));
    }
  };

  // Run once the click is known, at the latest when the page is left.
  let ready = Promise.resolve();
  const soon = (run) => {
    const once = (leaving) => waiting.delete(once) && run(leaving);
    waiting.add(once);
    ready.then(() => once());
  };

  const wanting = [];
  const keep = () => {
    const value = mayKeep() && id ? { id, until, consent } : consent && { consent };
    try {
      if (value) localStorage.setItem(key, JSON.stringify(value));
      else localStorage.removeItem(key);
    } catch {
      // As above.
    }
  };
  const renew = () => {
    until = Date.now() + (+data.days || 30) * 86_400_000;
    keep();
    for (const callback of wanting.splice(0)) setTimeout(callback, 0, id); // it may throw
  };

  // A visitor from elsewhere makes a click, unless the address has one.
  const begin = () => {
    const opened = performance.getEntriesByType("navigation")[0]?.type === "navigate";
    const isNew = !id || (opened && !document.referrer.startsWith(`${location.origin}/`));
    if (!mayKeep() || !(arrived || (data.link && isNew))) return keep();
    if (arrived) return renew();
    const click = { slug: data.link, domain: data.domain, referrer: document.referrer, consent };
    click.url = location.href.split("#")[0];
    ready = send("/api/click", () => click).then((answer) => {
      if (!answer.click_id) return;
      id = answer.click_id;
      told = answer.is_new ? click.consent : undefined; // an earlier click has its own
      renew();
    });
  };

  const tell = () =>
    soon((leaving) => {
      const click_id = id;
      if (click_id && told !== consent)
        send("/api/consent", () => ({ click_id, consent }), leaving);
      told = consent;
      if (!mayKeep()) id = arrived;
      keep();
    });

  const commands = {
    // Calls back with the id, once there is one.
    click(callback) {
      soon(() => (id ? callback(id) : wanting.push(callback)));
    },
    // What is sent again counts once by its id; with a status, click and key are one.
    conversion(fields = {}) {
      soon((leaving) => {
        const { pbk, status, txid, transaction_id: given = txid } = fields;
        const random = () => crypto.getRandomValues(new Uint32Array(4)).join("-");
        const transaction_id = given || (pbk && status && id ? undefined : random());
        const all = { click_id: id, consent, ...fields, transaction_id };
        send("/api/event", () => all, leaving);
      });
    },
    consent(answer) {
      const could = mayKeep();
      consent = answer === "granted" ? answer : "denied";
      if (!could && mayKeep()) begin();
      tell();
    },
  };
  const queued = window.tracker?.q || [];
  window.tracker = (name, value) => commands[name]?.(value);
  begin();
  if (consent) tell();
  for (const [name, value] of queued) window.tracker(name, value);
})();
