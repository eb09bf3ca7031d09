/** Reports as files. */

import { ApiError, send } from "console/core/api";

const EXPORT_MS = 900_000;

/** Save all rows of a report as CSV. Throws an ApiError if the service refuses, or cuts it off. */
export function downloadReport(body) {
  return download("/api/reports", { ...body, format: "csv" }, body.dateRange);
}

/** Save the CSV that a path answers for a panel of these days. Throws as `downloadReport`. */
export async function download(path, body, { from, to }) {
  const answer = await send("POST", path, { body, timeout: EXPORT_MS });
  const file = await answer.blob().catch(() => null);
  if (!file) throw new ApiError(0, "", "The service ended before the file was complete.");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = `${[body.groupBy].flat().join("-")}-${from}-${to}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
