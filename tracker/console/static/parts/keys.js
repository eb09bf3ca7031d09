/** The keyboard: shortcuts of the page and of the frame. */

import { useLayoutEffect, useRef } from "preact/hooks";
import { shortcuts } from "console/core/hooks";
import { navigate } from "console/core/route";

const SEQUENCE_MS = 1_000;

/** Run the shortcuts of the page and of the frame. Keys typed into a field are text. */
export function useKeys(navigation, setHelping, setGoing) {
  const leader = useRef(0);
  useLayoutEffect(() => {
    const press = (event) => {
      if (
        (event.ctrlKey || event.metaKey) &&
        event.key.toLowerCase() === "k" &&
        !document.querySelector("dialog[open]")
      ) {
        event.preventDefault();
        return setGoing(true);
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (
        document.querySelector("dialog[open]") ||
        (event.key.startsWith("Arrow") && scrolls(event.target))
      )
        return;
      const run = shortcutOf(event.key, leader, navigation, setHelping);
      if (!run) return;
      event.preventDefault();
      run();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}

function shortcutOf(key, leader, navigation, setHelping) {
  if (Date.now() - leader.current < SEQUENCE_MS) {
    leader.current = 0;
    const target = navigation.find((one) => one.key === key);
    if (target) return () => navigate(target.href);
  }
  if (key === "g") return () => (leader.current = Date.now());
  if (key === "?") return () => setHelping(true);
  const search = document.querySelector("[data-search]");
  if (key === "/" && search) return () => search.focus();
  return shortcuts.value[key]?.run;
}

/** Return whether arrow keys scroll an element sideways, or move in a menu. */
function scrolls(element) {
  if (element.closest("[popover]")) return true;
  for (let one = element; one && one !== document.body; one = one.parentElement) {
    if (one.scrollWidth > one.clientWidth && /auto|scroll/.test(getComputedStyle(one).overflowX))
      return true;
  }
  return false;
}

function isTyping(element) {
  return (
    element.isContentEditable ||
    element.matches("textarea, select, input:not([type=checkbox], [type=radio])")
  );
}
