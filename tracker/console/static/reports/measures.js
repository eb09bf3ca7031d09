/** The measures of reports, and which of them a panel shows. */

import { format } from "console/core/format";

/** The measures of a report: how they are called, and how a value is written. */
export const MEASURES = {
  clicks: ["Clicks", format.number],
  uniqueClicks: ["Visitors", format.number],
  conversions: ["Conversions", format.number],
  conversionRate: ["Rate", format.percent],
  value: ["Value", format.money],
  payout: ["Payout", format.money],
  botClicks: ["Bots", format.number],
};

/** Return the dimension by which the rows of a panel are asked for. */
export const groupOf = (panel) => (panel === "map" ? "country" : panel);

const OF_CONVERSIONS = ["conversions", "value", "payout"];

/** Return the measure that a panel shows if `measure` is chosen. Events have no clicks. */
export function measureOf(panel, measure) {
  if (panel === "bot") return "botClicks";
  return panel === "event" && !OF_CONVERSIONS.includes(measure) ? "conversions" : measure;
}
