/** Settings: leads to the first of its pages that the reader may see. */

import { useEffect } from "preact/hooks";
import { navigate } from "console/core/route";
import { settingsTabs } from "console/parts/settings";

/** The page. */
export default function Settings() {
  useEffect(() => navigate(settingsTabs()[0].href, { replace: true }), []);
  return null;
}
