/** Where a webhook may send: each with the request that the service documents. */

const SALE = "{event_name}: {value} {currency} from {country}, {internal_name} ({status})";
const NEWS = ["conversion", "webhook.disabled", "delivery.failed"];
const chat = (target, template, hint) => ({
  target,
  hint,
  method: "POST",
  events: NEWS,
  template,
});

const setting = (name, label, others) => ({ name: `settings.${name}`, label, ...others });
const secret = (name, label) => ({ name, label, type: "password", autocomplete: "off" });
const NEEDED = { required: true };
const PIXEL = setting("pixel_id", "Pixel id", NEEDED);
const EVENT = setting("event_name", "Event", { ...NEEDED, placeholder: "Purchase" });
const TEST = setting("test_event_code", "Test event code", { hint: "For tests only" });
const TOKEN = [secret("token", "Access token")];
const ads = (settings, header, scheme = "Bearer", secrets = TOKEN) => ({
  method: "POST",
  events: ["conversion"],
  template: {},
  platform: { settings, secrets, header, scheme },
});

/**
 * The presets by name: {target, hint, method, events, template}. Those of chats are in the API, and
 * so are the targets and templates of ad platforms, which have `platform` instead.
 */
export const PRESETS = {
  own: {
    target: "https://hooks.example/conversions",
    hint: "Path and query may have macros, such as {click_id}.",
    method: "POST",
    events: ["conversion"],
    template: {
      event: "{event_name}",
      id: "{event_id}",
      click_id: "{click_id}",
      value: "{value}",
      payout: "{payout}",
    },
  },
  slack: chat(
    "https://hooks.slack.com/services/…",
    { text: SALE },
    "The webhook URL of an app in Slack: Features, Incoming Webhooks.",
  ),
  discord: chat(
    "https://discord.com/api/webhooks/…",
    { content: SALE },
    "The URL of a webhook in the settings of a Discord channel: Integrations.",
  ),
  telegram: chat(
    "https://api.telegram.org/bot<token>/sendMessage",
    { chat_id: "", text: SALE },
    "With the token of your bot. Put the id of the chat into the payload.",
  ),
  meta: ads([PIXEL, EVENT, TEST], "Authorization"),
  tiktok: ads([PIXEL, EVENT, TEST], "Access-Token", ""),
  google: ads(
    [
      setting("customer_id", "Customer id", { ...NEEDED, hint: "Of the account, only digits" }),
      setting("conversion_action_id", "Conversion action id", NEEDED),
      setting("login_customer_id", "Manager’s customer id"),
    ],
    "Authorization",
    "Google-Refresh",
    [
      secret("id", "Client id"),
      secret("secret", "Client secret"),
      secret("token", "Refresh token"),
    ],
  ),
  microsoft: ads([setting("tag_id", "UET tag id", NEEDED), EVENT], "Authorization"),
  network: {
    target: "https://network.example/postback?cid={query.cid}&payout={payout}&status={status}",
    hint: "The network’s postback URL. {query.cid} is the parameter cid that the click brought.",
    method: "GET",
    events: ["conversion"],
    template: {},
  },
};

export const PRESET_NAMES = [
  ["own", "A server of yours"],
  ["slack", "Slack"],
  ["discord", "Discord"],
  ["telegram", "Telegram"],
  ["meta", "Meta, as conversions of ads"],
  ["tiktok", "TikTok, as conversions of ads"],
  ["google", "Google Ads, as conversions"],
  ["microsoft", "Microsoft Advertising, as conversions"],
  ["network", "A network’s postback"],
];
export const isOfApi = (name) => name !== "own" && name !== "network";

/** Return `settings` and `headers` to send. Without secrets those of `webhook` are kept. */
export function sentPlatform({ settings, secrets, header, scheme }, fields, given, webhook) {
  const texts = secrets.map(({ name }) => given[name]?.trim()).filter(Boolean);
  const sent = settings.map(({ name }) => [name.replace("settings.", ""), fields[name]?.trim()]);
  return {
    settings: Object.fromEntries(sent.filter(([, value]) => value)),
    headers: texts.length
      ? { [header]: [scheme, ...texts].join(" ").trim() }
      : Object.fromEntries(Object.keys(webhook?.headers ?? {}).map((name) => [name, null])),
  };
}
