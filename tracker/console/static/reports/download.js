/** Reports as files. */

import { ApiError, send } from "console/core/api";

const EXPORT_MS = 900_000;

/** Save all rows of a report as CSV. Throws an ApiError if the service refuses, or cuts it off. */
export async function downloadReport(body) {
  const answer = await send("POST", "/api/reports", {
    body: { ...body, format: "csv" },
    timeout: EXPORT_MS,
  });
  const file = await answer.blob().catch(() => null);
  if (!file) throw new ApiError(0, "", "The service ended before the file was complete.");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = `${[body.groupBy].flat().join("-")}-${body.dateRange.from}-${body.dateRange.to}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
