/** The measures of reports, and which of them a panel shows. */

import { format } from "console/core/format";

// Answers lack the numbers of which they have none.
const count = (value) => format.number(value ?? 0);
const percentOrNone = (value) => ((value ?? null) === null ? "–" : format.percent(value));

/** The measures of a report: how they are called, how a value is written, and what it means. */
export const MEASURES = {
  clicks: ["Clicks", format.number],
  uniqueClicks: ["Visitors", format.number],
  conversions: ["Conversions", format.number],
  conversionRate: ["Rate", format.percent],
  value: ["Value", format.money],
  payout: ["Payout", format.money],
  pendingConversions: ["Pending", count],
  pendingValue: ["Pending value", format.money],
  rejectedConversions: ["Rejected", count],
  refundedValue: ["Refunded", format.money],
  cost: ["Cost", format.money, "What clicks are known to cost, those of bots too"],
  unknownCostClicks: ["Cost unknown", count, "Clicks whose cost was no amount"],
  profit: ["Profit", format.money, "Payout less cost"],
  roi: ["ROI", percentOrNone, "Profit for each unit of cost"],
  epc: ["EPC", format.money, "Payout for each click"],
  cpc: ["CPC", format.money, "Cost of each click"],
  cpa: ["CPA", format.money, "Cost of each conversion"],
  botClicks: ["Bots", format.number],
};

/** The measures that are only shown where they are not zero. */
export const RARE = [
  "pendingConversions",
  "pendingValue",
  "rejectedConversions",
  "refundedValue",
  "unknownCostClicks",
];

/** The measures that are only shown where a cost is known. */
const COSTS = ["cost", "profit", "roi", "epc", "cpc", "cpa"];

/** Return the names of the measures to show of a report with these totals. */
export function shownMeasures(totals, previous, measure) {
  const has = (name) => name === measure || Number(totals[name]) || Number(previous?.[name]);
  const costs = [totals, previous ?? {}].some((one) => (one.cost ?? null) !== null);
  return Object.keys(MEASURES).filter((name) => {
    if (COSTS.includes(name)) return costs || name === measure;
    return !RARE.includes(name) || has(name);
  });
}

/** Return the dimension by which the rows of a panel are asked for. */
export const groupOf = (panel) => (panel === "map" ? "country" : panel);

const OF_CLICKS = ["clicks", "uniqueClicks", "botClicks", "conversionRate"];

/** Return the measure that a panel shows if `measure` is chosen. Events have no clicks. */
export function measureOf(panel, measure) {
  if (panel === "bot") return "botClicks";
  const isOfEvents = panel === "event" || panel === "currency";
  return isOfEvents && OF_CLICKS.includes(measure) ? "conversions" : measure;
}
