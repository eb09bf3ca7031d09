/**
 * A program with the client that openapi-typescript makes: links, a conversion and its webhook, a
 * report and its file. It takes BASE, ACCOUNT_ID and API_KEY from the environment.
 */

import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

import createClient from "openapi-fetch";
import { Webhook } from "standardwebhooks";

import type { components, paths } from "./tracker.js";

const { BASE: baseUrl = "", ACCOUNT_ID: accountId = "", API_KEY: key = "" } = process.env;
const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${key}` } });

/** Return the data of an answer; fail with the error that the service named. */
function done<Data>({ data, error }: { data?: Data; error?: { error: string } }): Data {
  if (data === undefined) throw new Error(error?.error);
  return data;
}

// A tag, and links with it: one alone, two together.
const tag = done(await client.POST("/api/tags", { body: { accountId, name: "Spring" } }));
assert("name" in tag);
const link = done(
  await client.POST("/api/short-links", {
    body: { accountId, destination_url: "https://shop.example/{slug}", slug: "spring", tags: [tag.id] },
  }),
);
const made = done(
  await client.POST("/api/short-links/bulk", {
    body: {
      accountId,
      links: [
        { destination_url: "https://shop.example/a", slug: "a", active: false },
        { destination_url: "https://shop.example/b", slug: "b", tags: [tag.id] },
      ],
    },
  }),
);
assert.deepEqual(made.rows.map((row) => row.slug), ["a", "b"]);

// Filters of the list.
const listed = done(
  await client.GET("/api/short-links", {
    params: { query: { accountId, selectedTags: [tag.id], sort: "slug" } },
  }),
);
assert.deepEqual(listed.rows.map((row) => row.slug), ["b", "spring"]);
assert.equal(listed.pagination.totalRows, 2);
const found = done(
  await client.GET("/api/short-links", { params: { query: { accountId, slug: "spring" } } }),
);
assert.deepEqual(found.rows.map((row) => row.id), [link.id]);

// A webhook, whose deliveries are verified.
let secret = "";
let deliver: (payload: unknown) => void = () => {};
const delivered = new Promise((resolve) => (deliver = resolve));
const receiver = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  try {
    const headers = request.headers as Record<string, string>;
    deliver(new Webhook(secret).verify(Buffer.concat(chunks).toString(), headers));
    response.writeHead(204).end();
  } catch {
    response.writeHead(401).end();
  }
});
await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
const { port } = receiver.address() as AddressInfo;
const webhook = done(
  await client.POST("/api/webhooks", {
    body: {
      account_id: accountId,
      target_url: `http://127.0.0.1:${port}/`,
      payload_template: { click: "{click_id}", value: "{value}", plan: "{metadata.plan}" },
    },
  }),
);
secret = webhook.secret;

// A click, as a visitor makes it, and its conversion.
const config = done(
  await client.POST("/api/event-configs", {
    body: { accountId, name: "Purchase", payout_type: "RevShare", payout: 10 },
  }),
);
const click = await fetch(`${baseUrl}/c/${link.slug}?utm_source=news`, { redirect: "manual" });
const location = new URL(click.headers.get("location") ?? "");
assert.equal(location.pathname, "/spring");
const clickId = location.searchParams.get("click_id") ?? "";
const conversion = await client.GET("/api/event", {
  params: {
    query: {
      pbk: config.pbk,
      click_id: clickId,
      value: 12.5,
      metadata: JSON.stringify({ plan: "pro" }),
      transaction_id: "order-1",
    },
  },
});
assert.equal(conversion.response.status, 200);
assert.deepEqual(await delivered, { click: clickId, value: 12.5, plan: "pro" });
receiver.close();

// A report with filters, and the same as a file.
const today = new Date();
const day = (offset: number) =>
  new Date(today.getTime() + offset * 86_400_000).toISOString().slice(0, 10);
const report: components["schemas"]["ExportReportRequest"] = {
  accountId,
  dateRange: { from: day(-1), to: day(1) },
  groupBy: "link",
  filters: { utm_source: "news", tag: [tag.id] },
  bots: "include",
};
const deadline = Date.now() + 30_000;
let answer = done(await client.POST("/api/reports", { body: report }));
while (!answer.totals.conversions) {
  assert(Date.now() < deadline, "the conversion is not counted");
  await sleep(50);
  answer = done(await client.POST("/api/reports", { body: report }));
}
assert.deepEqual(answer.rows.map((row) => [row.key, row.clicks, row.value]), [[link.id, 1, 12.5]]);
const csv = done(await client.POST("/api/reports/export", { body: report, parseAs: "text" }));
assert(csv.startsWith("key,name,clicks,"));
assert.equal(csv.trimEnd().split("\r\n").length, 2);
const links = done(
  await client.GET("/api/short-links/export", { params: { query: { accountId } }, parseAs: "text" }),
);
assert.equal(links.trimEnd().split("\r\n").length, 4);

// An error names the field and the rule.
const refused = await client.POST("/api/tags", { body: { accountId, name: "spring" } });
assert.match(refused.error?.error ?? "", /^name: another tag/);

console.log(`verified: ${clickId}`);
