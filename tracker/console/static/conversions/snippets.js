/** Code that reports a conversion, for people to copy. Pure. */

/** What a person replaces, by parameter. The service refuses each of them while it stands. */
const PLACEHOLDERS = { click_id: "CLICK_ID", value: "VALUE", transaction_id: "ORDER_ID" };

/**
 * Return pairs of title and code that report a conversion to the service at `origin`.
 *
 * Parameters have the names that the configuration has for them: its first alias, or their own.
 */
export function snippets(origin, { pbk, parameter_aliases: aliases = {} }) {
  const url = `${origin}/api/event`;
  const fields = [
    ["pbk", pbk],
    ...Object.entries(PLACEHOLDERS).map(([parameter, placeholder]) => [
      Object.keys(aliases).find((name) => aliases[name] === parameter) ?? parameter,
      placeholder,
    ]),
  ];
  const query = fields.map((one) => one.join("=")).join("&");
  return [
    ["Postback URL, for a network", `${url}?${query}`],
    ["Pixel, for a page", pixel(`${url}?${query}`)],
    ["Server, with curl", curl(url, fields)],
    ["Server, in Python", python(url, fields)],
    ["Server or browser, in JavaScript", javascript(url, fields)],
  ];
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
