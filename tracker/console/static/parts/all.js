/** Whole lists, for choices: the API answers page by page. */

import { api } from "console/core/api";

const PAGE_SIZE = 100;
const MOST_PAGES = 20;

/** Return {rows} with all rows of a list of the account, or the first 2,000 of more. */
export async function loadAll(path, signal) {
  const first = await api.get(path, { pageSize: PAGE_SIZE }, signal);
  const pages = Math.min(first.pagination.totalPages, MOST_PAGES);
  const numbers = Array.from({ length: Math.max(0, pages - 1) }, (_, index) => index + 2);
  const others = await Promise.all(
    numbers.map((page) => api.get(path, { pageSize: PAGE_SIZE, page }, signal)),
  );
  return { rows: [first, ...others].flatMap(({ rows }) => rows) };
}
