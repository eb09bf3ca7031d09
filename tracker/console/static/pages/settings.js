/** Settings: leads to the first of its pages that the reader may see. */

import { navigate, useEffect } from "console/core";
import { settingsTabs } from "console/parts/settings";

/** The page. */
export default function Settings() {
  useEffect(() => navigate(settingsTabs()[0].href, { replace: true }), []);
  return null;
}
