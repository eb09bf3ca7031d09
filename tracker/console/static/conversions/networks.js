/**
 * Affiliate networks: what their postbacks are filled with, as their documentation says. Pure.
 *
 * The first macro gives back the click id, which the network's link takes as `takes`. Words are those
 * of its status.
 */

const AFFISE_WORDS = { 1: "approved", 2: "pending", 3: "rejected", 5: "pending" };
const ADCOMBO_WORDS = { hold: "pending", lead: "approved", reject: "rejected" };

const network = (name, takes, click_id, value, transaction_id, others = {}) => ({
  name,
  takes,
  macros: { click_id, value, transaction_id, ...others.macros },
  words: others.words ?? {},
});

export const NETWORKS = [
  network("AdCombo", "clickid", "{clickid}", "{revenue}", "{trans_id}", {
    macros: { status: "{status}" },
    words: ADCOMBO_WORDS,
  }),
  network("Affise", "sub1", "{sub1}", "{sum}", "{transactionid}", {
    macros: { status: "{status}", currency: "{currency}" },
    words: AFFISE_WORDS,
  }),
  network("CAKE", "s2", "#s2#", "#price#", "#tid#"),
  network("ClickDealer", "s2", "#s2#", "#price#", "#tid#"),
  network("CPAlead", "subid", "{subid}", "{payout}", "{lead_id}"),
  network("Everflow", "sub1", "{sub1}", "{payout_amount}", "{transaction_id}"),
  network("HasOffers (TUNE)", "aff_sub", "{aff_sub}", "{payout}", "{transaction_id}"),
  network("Indoleads", "p1", "{p1}", "{payout}", "{conversion_id}", {
    macros: { currency: "{currency}" },
  }),
  network("Kuala", "subid1", "{subid1}", "{payout}", "{xid}"),
  network("Limonad", "clickid", "{clickid}", "{payout}", "{leadid}", {
    macros: { status: "{status}" },
  }),
  network("MyAppFree", "click_id", "{click_id}", "{payout}", "{install_id}"),
  network("MyLead", "ml_sub1", "[ml_sub1]"),
  network("Offer18", "aff_click_id", "{aff_click_id}"),
  network("OGAds", "aff_sub4", "{aff_sub4}", "{payout}"),
  network("PlaytimeAds", "clickId", "{clickId}", "{payout}"),
  network("Trackier", "p1", "{p1}", "{payout}", "{txn_id}"),
  network("Zeydoo", "ymid", "{ymid}", "{amount}"),
  network("Another, with {braces}", "sub1", "{sub1}", "{payout}", "{transaction_id}", {
    macros: { status: "{status}", currency: "{currency}" },
  }),
  network("Another, with [brackets]", "sub1", "[sub1]", "[payout]", "[transaction_id]", {
    macros: { status: "[status]", currency: "[currency]" },
  }),
  network("Another, with #hashes#", "sub1", "#sub1#", "#payout#", "#transaction_id#", {
    macros: { status: "#status#", currency: "#currency#" },
  }),
];

/** Return the words of a network without a meaning in an event configuration. */
export function missingWords({ words }, statuses = {}) {
  const known = Object.keys(statuses).map((one) => one.toLowerCase());
  return Object.fromEntries(Object.entries(words).filter(([word]) => !known.includes(word)));
}
