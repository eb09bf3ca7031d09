/** Rules and splits in words, and as a form has them. Pure. */

import { format } from "console/core/format";
import { CHOICES, titlesOf } from "console/reports/dimensions";

/** The kinds of conditions by name: {label, hint, choices}. Only values of `choices` are known. */
export const KINDS = {
  country: { hint: "DE, AT" },
  language: { label: "Language", hint: "es, de-AT" },
  device: {},
  os: {},
  browser: {},
  referrer: { hint: "shop.example, with its subdomains" },
  query: { label: "Parameter" },
  ip: { label: "Address", hint: "192.0.2.0/24, 2001:db8::/32" },
  time: { label: "Time" },
};
for (const [name, kind] of Object.entries(KINDS)) {
  kind.label ??= titlesOf(name)[0];
  kind.choices = CHOICES[name];
}

/** Return the kind of a condition. */
export const kindOf = (condition) => Object.keys(KINDS).find((name) => condition[name]);

/** Return the share of each variant among people, from 0 to 1. Without a weight nobody draws. */
export function sharesOf(variants) {
  const weights = variants.map(({ active, weight }) => (active ? Number(weight) : 0));
  const sum = weights.reduce((all, one) => all + one, 0);
  return weights.map((weight) => (sum > 0 ? weight / sum : 0));
}

/** Return where a rule, or a link, leads: its destination, or its variants with their shares. */
export function targetText({ destination_url: url, split }) {
  if (!split) return url;
  const shares = sharesOf(split.variants).map(format.percent);
  return split.variants.map(({ name }, number) => `${name} ${shares[number]}`).join(", ");
}

/** Return what a form has of a link's rules. */
export const rulesOf = ({ destination_url, rules, split }) => ({ destination_url, rules, split });

/** Return the fields of the form of a link as the API takes them. */
export function sentRules({ destination_url, rules, split }, link) {
  const sent = { rules: rules.map(({ key: _, ...rule }) => rule), split };
  // An old destination may break a newer rule.
  return destination_url === link.destination_url ? sent : { ...sent, destination_url };
}

/** Return the place that a path names: "Rule 4, condition 1" of `rules[3].conditions[0]`. */
export function placeText(path) {
  const words = path.split(".").map((part) => {
    const [, noun, index] = /^(rule|condition|variant)s\[(\d+)\]/.exec(part) ?? [];
    return noun ? `${noun} ${Number(index) + 1}` : part.replace(/\[.*/, "").replaceAll("_", " ");
  });
  const text = words.join(", ");
  return text[0].toUpperCase() + text.slice(1);
}
