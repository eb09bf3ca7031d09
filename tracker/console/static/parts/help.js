/** The list of keyboard shortcuts: of every page, and of the page on screen. */

import { shortcuts } from "console/core/hooks";
import { html } from "console/core/html";
import { Dialog } from "console/parts/dialog";

/** The dialog that lists the shortcuts. `navigation` has the pages that `g` leads to. */
export function HelpDialog({ navigation, onClose }) {
  const own = Object.entries(shortcuts.value).map(([key, { label }]) => [[key], label]);
  const pages = navigation.filter(({ key }) => key).map(({ key, label }) => [["g", key], label]);
  const general = [
    [["?"], "This list"],
    [["/"], "Search"],
    [["Ctrl", "K"], "Go to a page, link or tag"],
    [["Esc"], "Close what is open"],
  ];
  return html`<${Dialog} title="Keyboard shortcuts" onClose=${onClose}>
    <div class="columns">
      <${Keys} title="This page" rows=${own} />
      <${Keys} title="Everywhere" rows=${general} />
      <${Keys} title="Go to" rows=${pages} />
    </div>
  <//>`;
}

function Keys({ title, rows }) {
  if (rows.length === 0) return null;
  return html`<section class="stack close">
    <h3>${title}</h3>
    <dl class="keys">
      ${rows.map(
        ([keys, label]) => html`<div>
          <dt>${label}</dt>
          <dd>${keys.map((key) => html`<kbd>${key}</kbd> `)}</dd>
        </div>`,
      )}
    </dl>
  </section>`;
}
