/** Menus: a button that shows a list of actions. */

import { Icon, Button, html, useId, useRef, useState } from "console/core";

const GAP = 4;

/**
 * A button with a menu. `items` are {label, icon?, run | href, kind?, disabled?}, or null, which is
 * left out. Without children the button shows only `icon`.
 *
 * The browser shows it above everything, closes it by Escape or a click beside it, and gives the
 * focus back.
 */
export function Menu({ label, icon = "more", kind = "quiet", items, children }) {
  const id = useId();
  const menu = useRef(null);
  const button = useRef(null);
  const [open, setOpen] = useState(false);
  const toggled = (event) => {
    setOpen(event.newState === "open");
    if (event.newState !== "open") return;
    place(menu.current, button.current.firstElementChild);
    entriesOf(menu.current)[0]?.focus();
    // A menu does not follow what is scrolled under it.
    addEventListener("scroll", () => menu.current?.hidePopover(), { once: true, capture: true });
  };
  return html`<span class="menu" ref=${button}>
    <${Button} ...${{ kind, icon, label }} popovertarget=${id} aria-haspopup="menu" aria-expanded=${open}>${children}<//>
    <div id=${id} ref=${menu} popover="auto" role="menu" aria-label=${label} onToggle=${toggled} onKeyDown=${(event) => move(event, menu.current)}>
      ${items.filter(Boolean).map((item) => html`<${Item} key=${item.label} ...${item} close=${() => menu.current.hidePopover()} />`)}
    </div>
  </span>`;
}

function Item({ label, icon, run, href, kind = "", disabled, close }) {
  const content = html`${icon && html`<${Icon} name=${icon} />`}<span>${label}</span>`;
  const given = { role: "menuitem", tabindex: -1, class: kind };
  if (href) return html`<a href=${href} ...${given} onClick=${close}>${content}</a>`;
  const act = () => {
    close();
    run();
  };
  return html`<button type="button" ...${given} disabled=${disabled} onClick=${act}>${content}</button>`;
}

function entriesOf(menu) {
  return [...menu.querySelectorAll("[role=menuitem]:not(:disabled)")];
}

/** Put a menu under its button, or above it where there is no room, towards the middle of the window. */
function place(menu, button) {
  const { left, right, top, bottom } = button.getBoundingClientRect();
  const { clientWidth, clientHeight } = document.documentElement;
  const { offsetWidth: width, offsetHeight: height } = menu;
  const start = left < clientWidth / 2 ? left : right - width;
  const below = bottom + GAP + height <= clientHeight;
  menu.style.left = `${Math.max(GAP, Math.min(start, clientWidth - GAP - width))}px`;
  menu.style.top = `${below ? bottom + GAP : Math.max(GAP, top - GAP - height)}px`;
}

function move(event, menu) {
  const entries = entriesOf(menu);
  const here = entries.indexOf(document.activeElement);
  const target = {
    ArrowDown: entries[(here + 1) % entries.length],
    ArrowUp: entries.at(here <= 0 ? -1 : here - 1),
    Home: entries[0],
    End: entries.at(-1),
  }[event.key];
  if (event.key === "Tab") menu.hidePopover();
  if (!target) return;
  event.preventDefault();
  target.focus();
}
