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

/** The presets by name: {target, hint, method, events, template}. Those of chats are in the API. */
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
  ["network", "A network’s postback"],
];
export const CHATS = ["slack", "discord", "telegram"];
