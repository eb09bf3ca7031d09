/** The dimensions of reports, as the document names them, and the cards that show them. */

import { OPERATORS, operatorsOf } from "console/reports/query";

/**
 * The panels as the page has them: [name, title of a value, title of the panel, card, whether it
 * filters, and also by a text], the names of those that are pictures instead of rows, and all values
 * of some dimensions.
 */
const [PANELS, pictures, choices] = JSON.parse(document.getElementById("dimensions").textContent);

/** Return whether a panel is a picture. */
export const isPicture = (panel) => pictures.includes(panel);

/** All values of the dimensions that have a closed list. */
export const CHOICES = Object.fromEntries(choices);

const TITLES = Object.fromEntries(PANELS.map(([name, one, many]) => [name, [one, many]]));

const OWN = "parameter:";

/** Return the dimensions of the account's own parameters, which share a card. */
export const ownDimensions = (names) => names.map((name) => OWN + name);

/** Return whether a dimension is one of an account's own parameters. */
export const isOwn = (name) => name.startsWith(OWN);

/** The dimensions of time, which have no panel. */
const TIMES = { day: "Day", week: "Week", month: "Month", weekday: "Weekday", hour_of_day: "Hour" };

/** Return how a dimension is called: one of it, and as the title of a panel. */
export function titlesOf(name) {
  return isOwn(name) ? Array(2).fill(name.slice(OWN.length)) : (TITLES[name] ?? [TIMES[name]]);
}

const DECIDED = ["rule", "variant"];

/** Return whether an account's reports have a panel. */
export function isOfAccount(panel, { currency, decides, has_parents: hasParents }) {
  return (
    (panel !== "currency" || currency) &&
    (panel !== "parent_link" || hasParents) &&
    (decides || !DECIDED.includes(panel))
  );
}

/** Return the dimensions that the levels of an account's cross tables can be. */
export function levelsOf(account) {
  const filters = FILTERS.filter((name) => isOfAccount(name, account));
  return [...filters, ...ownDimensions(account.parameters), ...Object.keys(TIMES)];
}

/** The dimensions that can be filtered by. */
export const FILTERS = PANELS.filter(([, , , , filters]) => filters).map(([name]) => name);

/** The dimensions that panels show, by the card that they share. */
export const CARDS = [...new Set(PANELS.map(([, , , card]) => card))].map((card) =>
  PANELS.filter((row) => row[3] === card).map(([name]) => name),
);

/**
 * Return whether a report can be filtered by the value of a row. Conversions without a click have
 * no link, and the rest of an own parameter's values is none of them.
 */
export function isFilter(dimension, key) {
  if (dimension in TIMES) return false;
  return isOwn(dimension) ? key !== "others" : dimension !== "link" || key !== "unknown";
}

/** Return the operators that a filter may have. */
export function operatorsFor(dimension) {
  const hasTexts =
    isOwn(dimension) || PANELS.some(([name, , , , , also]) => also && name === dimension);
  return OPERATORS.slice(0, hasTexts ? 4 : 2);
}

/**
 * Return the texts of a filter, such as "Country is Germany or France", by the name in the URL. What
 * a value is called, `label` knows.
 */
export function filterTexts(dimension, filter, tagOperator, label = String) {
  const values = operatorsOf(filter);
  const and = (operator) => dimension === "tag" && operator === "is" && tagOperator === "AND";
  return OPERATORS.filter(([operator]) => values[operator]).map(([operator, end, words]) => [
    dimension + end,
    `${titlesOf(dimension)[0]} ${words} ${values[operator].map(label).join(and(operator) ? " and " : " or ")}`,
  ]);
}
