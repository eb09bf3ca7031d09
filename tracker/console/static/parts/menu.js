/** The inside of an open menu: its place on the screen, its keys, and its items. */

import { useLayoutEffect, useRef } from "preact/hooks";
import { html } from "console/core/html";
import { Icon } from "console/core/parts";

const GAP = 4;

/** The items of a menu, whose parent is the popover and whose button is before that. */
export function MenuItems({ label, items }) {
  const list = useRef(null);
  const close = () => list.current.parentElement.hidePopover();
  useLayoutEffect(() => {
    const popover = list.current.parentElement;
    place(popover, popover.previousElementSibling);
    entriesOf(list.current)[0]?.focus();
    // A menu does not follow what is scrolled under it.
    const hide = () => popover.hidePopover();
    addEventListener("scroll", hide, { capture: true });
    return () => removeEventListener("scroll", hide, { capture: true });
  }, []);
  return html`<div
    ref=${list}
    role="menu"
    aria-label=${label}
    onKeyDown=${(event) => move(event, list.current, close)}
  >
    ${items
      .filter(Boolean)
      .map((item) => html`<${Item} key=${item.label} ...${item} close=${close} />`)}
  </div>`;
}

function Item({ label, icon, run, href, kind = "", disabled, close }) {
  const content = html`${icon && html`<${Icon} name=${icon} />`}<span>${label}</span>`;
  const given = { role: "menuitem", tabindex: -1, class: kind };
  if (href) return html`<a href=${href} ...${given} onClick=${close}>${content}</a>`;
  const act = () => {
    close();
    run();
  };
  return html`<button type="button" ...${given} disabled=${disabled} onClick=${act}>
    ${content}
  </button>`;
}

function entriesOf(list) {
  return [...list.querySelectorAll("[role=menuitem]:not(:disabled)")];
}

/**
 * Put a menu under its button, or above it where there is no room, towards the middle of the
 * window.
 */
function place(popover, button) {
  const { left, right, top, bottom } = button.getBoundingClientRect();
  const { clientWidth, clientHeight } = document.documentElement;
  const { offsetWidth: width, offsetHeight: height } = popover;
  const start = left < clientWidth / 2 ? left : right - width;
  const below = bottom + GAP + height <= clientHeight;
  popover.style.left = `${Math.max(GAP, Math.min(start, clientWidth - GAP - width))}px`;
  popover.style.top = `${below ? bottom + GAP : Math.max(GAP, top - GAP - height)}px`;
}

function move(event, list, close) {
  const entries = entriesOf(list);
  const here = entries.indexOf(document.activeElement);
  const target = {
    ArrowDown: entries[(here + 1) % entries.length],
    ArrowUp: entries.at(here <= 0 ? -1 : here - 1),
    Home: entries[0],
    End: entries.at(-1),
  }[event.key];
  if (event.key === "Tab") close();
  if (!target) return;
  event.preventDefault();
  target.focus();
}
