/**
 * The shades of maps: steps of one hue from little to much, and the legend that says what they
 * stand for.
 */

import { format } from "console/core/format";
import { html } from "console/core/html";

const SHADES = 6;

/**
 * Return a scale from 0 to `most`. `power` is that of a value which a shade stands for: 1 for equal
 * steps, less where a few values have most of the whole.
 */
export function scaleOf(most, power = 1) {
  return {
    shade: (value) => (value > 0 ? Math.max(1, Math.ceil(SHADES * (value / most) ** power)) : 0),
    /** Return the largest value of a shade. */
    end: (shade) => most * (shade / SHADES) ** (1 / power),
    most,
  };
}

/**
 * The legend of a scale: its shades from low to high, each titled with its values. `text` writes a
 * value.
 */
export function Legend({ scale, text }) {
  if (!scale.most) return null;
  const end = (shade) =>
    text(text === format.number ? Math.floor(scale.end(shade) + 1e-9) : scale.end(shade));
  const values = (shade) =>
    shade === 0
      ? end(0)
      : shade === 1
        ? `up to ${end(1)}`
        : `over ${end(shade - 1)}, up to ${end(shade)}`;
  return html`<div class="legend">
    <span class="numeric">${text(0)}</span>
    <svg viewBox="0 0 ${SHADES + 1} 1" preserveAspectRatio="none" aria-hidden="true">
      ${Array.from(
        { length: SHADES + 1 },
        (_, shade) => html`<rect class="shade-${shade}" x=${shade} width="1" height="1">
          <title>${values(shade)}</title>
        </rect>`,
      )}
    </svg>
    <span class="numeric">${text(scale.most)}</span>
  </div>`;
}
