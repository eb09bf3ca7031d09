/** A test click: recorded as a test, with its destination in a tab of its own. */

import { api } from "console/core/api";
import { toast } from "console/core/toasts";

/**
 * Record a test click of a link, open where it leads, and return its id. Call it in the gesture of
 * the person.
 */
export async function testClick(link) {
  // Later than the gesture, the browser would take the tab for a pop-up and block it.
  const tab = window.open("", "_blank");
  if (tab) tab.opener = null;
  try {
    const { click_id: id, location } = await api.post(`/api/short-links/${link.id}/test-click`);
    if (tab) tab.location.replace(location);
    toast(
      tab
        ? "A test click is recorded"
        : "A test click is recorded. Your browser did not let its destination open.",
    );
    return id;
  } catch (error) {
    tab?.close();
    throw error;
  }
}
