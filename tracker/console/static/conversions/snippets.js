/** Code that reports a conversion, for people to copy. Pure. */

/** Return pairs of title and code that report a conversion to the service at `origin`. */
export function snippets(origin, pbk) {
  const url = `${origin}/api/event`;
  const query = `pbk=${pbk}&click_id=CLICK_ID&value=12.50&transaction_id=ORDER_ID`;
  return [
    ["Postback URL, for a network", `${url}?${query}`],
    ["Pixel, for a page", pixel(`${url}?${query}`)],
    ["Server, with curl", curl(url, pbk)],
    ["Server, in Python", python(url, pbk)],
    ["Server or browser, in JavaScript", javascript(url, pbk)],
  ];
}

function pixel(url) {
  return `<img src="${url.replaceAll("&", "&amp;")}" width="1" height="1" alt="">`;
}

function curl(url, pbk) {
  const fields = `"pbk": "${pbk}", "click_id": "CLICK_ID", "value": 12.50`;
  return `curl -s ${url} -H 'Content-Type: application/json' \\
  -d '{${fields}, "transaction_id": "ORDER_ID"}'`;
}

function python(url, pbk) {
  return `import requests

requests.post(
    "${url}",
    json={
        "pbk": "${pbk}",
        "click_id": click_id,
        "value": 12.50,
        "transaction_id": order_id,
    },
    timeout=10,
).raise_for_status()`;
}

function javascript(url, pbk) {
  const fields = `pbk: "${pbk}", click_id: clickId, value: 12.5, transaction_id: orderId`;
  return `await fetch("${url}", {
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify({ ${fields} }),
});`;
}
