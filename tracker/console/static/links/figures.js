/** The list of links with the figures of a period, in the order of one of them or without. */

import { useEffect, useState } from "preact/hooks";
import { api, owned } from "console/core/api";
import { can, today } from "console/core/session";
import { utmFilters } from "console/links/utm";
import { DEFAULT_PERIOD, PERIODS, daysOf } from "console/reports/periods";

export const FIGURES = ["clicks", "conversions", "value", "cost", "profit"];

/** The figures of a link that no report has. */
export const NO_FIGURES = { clicks: 0, conversions: 0, value: 0, cost: null, profit: null };

const PAGE_SIZE = 100;

const isFigure = (sort) => FIGURES.includes((sort ?? "").replace("-", ""));

/** Return the filters of the API for those in the URL. */
export function filtersIn({ search, tags, tagOperator, state, ...others }) {
  return {
    ...utmFilters(others),
    search,
    selectedTags: tags,
    tagOperator: tags && tagOperator,
    active: ["true", "false"].includes(state) ? state : undefined,
    archived: state === "archived" ? true : undefined,
    state: ["scheduled", "expired", "used_up", "protected"].includes(state) ? state : undefined,
  };
}

/** Return the period of the figures, and the order that the download has too. */
export function figuresIn({ period, sort }) {
  const known = Object.hasOwn(PERIODS, period ?? "") ? period : DEFAULT_PERIOD;
  const days = daysOf(known, undefined, today());
  return { period: known, days, ...(isFigure(sort) ? { figure: sort } : { sort }) };
}

/** Load a page of links; in the order of a figure with their `figures`, by id. */
export async function loadPage(query, signal) {
  const { days, figure, sort } = figuresIn(query);
  const given = { ...filtersIn(query), page: query.page, pageSize: PAGE_SIZE };
  if (!figure) return api.get("/api/short-links", { ...given, sort }, signal);
  const path = "/api/short-links/figures";
  const page = await api.get(path, { ...given, ...days, sort: figure }, signal);
  const figures = new Map(page.rows.map((row) => [row.link.id, row.figures]));
  return { ...page, rows: page.rows.map(({ link }) => link), figures };
}

/**
 * Return the figures of a page's links, by id, once the list itself is on screen: null before,
 * undefined if they cannot be had.
 */
export function useFigures(page, days) {
  const [found, setFound] = useState(null);
  const ids = page?.figures ? [] : (page?.rows ?? []).map(({ id }) => id);
  useEffect(() => {
    setFound(null);
    if (!ids.length || !can("reports:read")) return undefined;
    let current = true;
    const report = { dateRange: days, groupBy: "link", filters: { link: ids } };
    api
      .post("/api/reports", owned({ ...report, columns: FIGURES, pageSize: PAGE_SIZE }))
      .then(({ rows }) => current && setFound(new Map(rows.map((row) => [row.key, row]))))
      .catch(() => current && setFound(undefined));
    return () => (current = false);
  }, [ids.join(), days.from, days.to]);
  return page?.figures ?? found;
}
