/** A field for a day that is typed digit by digit, while pages render what its first digits mean. */

import { useLayoutEffect, useRef } from "preact/hooks";
import { html } from "console/core/html";

/**
 * The field. `onDay` gets each complete day, and "" for none. What is rendered meanwhile does not
 * touch a field that has the focus: the browser would forget the digits of an incomplete part.
 */
export function DayInput({ value = "", onDay, ...given }) {
  const input = useRef(null);
  useLayoutEffect(() => {
    if (input.current !== document.activeElement) input.current.value = value;
  }, [value]);
  // While a year is typed its first digits are a year too.
  const take = (day) => (day === "" || day >= "1000") && onDay(day);
  return html`<input
    ...${given}
    ref=${input}
    type="date"
    onChange=${(event) => take(event.target.value)}
    onBlur=${(event) => (event.target.value = value)}
  />`;
}
