/** Elements from templates. */

import { h } from "preact";
import htm from "htm";

/** Build elements from a template: html`<p class="note">${text}</p>`. */
export const html = htm.bind(h);
