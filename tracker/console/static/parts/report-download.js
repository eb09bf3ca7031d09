/** Reports as files. */

import { ApiError } from "console/core";

/** Save all rows of a report as CSV. Throws an ApiError if the service refuses, or cuts it off. */
export async function downloadReport(body) {
  const answer = await fetch("/api/reports", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ ...body, format: "csv" }),
    credentials: "same-origin",
  }).catch(() => null);
  if (!answer) throw new ApiError(0, "", "The service cannot be reached.");
  if (!answer.ok) {
    const value = await answer.json().catch(() => null);
    throw new ApiError(answer.status, "", value?.error ?? `the service answered ${answer.status}`);
  }
  const file = await answer.blob().catch(() => null);
  if (!file) throw new ApiError(0, "", "The service ended before the file was complete.");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = `${body.groupBy}-${body.dateRange.from}-${body.dateRange.to}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
