/** Code that reports a conversion, for people to copy. Pure. */

/** What a person replaces, by parameter. The service refuses each of them while it stands. */
const PLACEHOLDERS = { click_id: "CLICK_ID", value: "VALUE", transaction_id: "ORDER_ID" };

/**
 * Return pairs of title and code that report a conversion to the service at `origin`, but for the
 * postback URL of a network. `script` is the path and hash of the script for landing pages.
 */
export function snippets(origin, config, script) {
  const url = `${origin}/api/event`;
  const fields = fieldsOf(config, PLACEHOLDERS);
  const src = `src="${origin}${script.path}" integrity="${script.integrity}"`;
  return [
    ["Script, for every page", `<script defer ${src} crossorigin="anonymous"></script>`],
    ["Conversion by the script", byScript(config)],
    ["Pixel, for a page", pixel(postbackUrl(origin, config))],
    ["Server, with curl", curl(url, fields)],
    ["Server, in Python", python(url, fields)],
    ["Server or browser, in JavaScript", javascript(url, fields)],
  ];
}

/** Return the URL that a network calls. It fills in its `macros`, by parameter. */
export function postbackUrl(origin, config, macros = PLACEHOLDERS) {
  const fields = fieldsOf(config, macros).map((one) => one.join("="));
  return `${origin}/api/event?${fields.join("&")}`;
}

/** Return names and texts. The configuration's first alias of a parameter is its name. */
function fieldsOf({ pbk, parameter_aliases: aliases = {} }, texts) {
  const nameOf = (parameter) =>
    Object.keys(aliases).find((name) => aliases[name] === parameter) ?? parameter;
  const given = Object.entries(texts).filter(([, text]) => text);
  return [["pbk", pbk], ...given.map(([parameter, text]) => [nameOf(parameter), text])];
}

// Its names are the API's: without `transaction_id` the script adds one. Blockers may stop it.
function byScript({ pbk }) {
  const fields = [["pbk", pbk], ...Object.entries(PLACEHOLDERS).slice(1)];
  return `window.tracker?.("conversion", {\n${inLines(fields, "  ")}\n});`;
}

function pixel(url) {
  return `<img src="${url.replaceAll("&", "&amp;")}" width="1" height="1" alt="">`;
}

// Forms, in which a number is text too: what is filled in may keep its quotes.
function curl(url, fields) {
  const lines = fields.map(([name, value]) => ` \\\n  --data-urlencode '${name}=${value}'`);
  return `curl -s ${url}${lines.join("")}`;
}

function python(url, fields) {
  return `import requests

requests.post(
    "${url}",
    data={
${inLines(fields, "        ")}
    },
    timeout=10,
).raise_for_status()`;
}

function javascript(url, fields) {
  return `await fetch("${url}", {
  method: "POST",
  body: new URLSearchParams({
${inLines(fields, "    ")}
  }),
});`;
}

function inLines(fields, indent) {
  return fields.map(([name, value]) => `${indent}"${name}": "${value}",`).join("\n");
}
