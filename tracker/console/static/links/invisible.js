/** Invisible characters, which copying adds, as the service reads them: tracker/syntax/invisible. */

const SEEN =
  "[\\u0600-\\u0605\\u06dd\\u070f\\u0890\\u0891\\u08e2\\u{110bd}\\u{110cd}\\u{13430}-\\u{1343f}\\u{e0020}-\\u{e007f}]";
const OUTER = `(?:(?!${SEEN})[\\s\\p{Cc}\\p{Cf}])`;
const ENDS = new RegExp(`^${OUTER}+|(?<!${OUTER})${OUTER}+$`, "gu");
const JOINER = "(?<=[^\\x00-\\x7f])[\\u200c\\u200d](?=[^\\x00-\\x7f])";
const WITHIN = new RegExp(`(?!${SEEN}|${JOINER})\\p{Cf}`, "u");

/** Return `text` without white space and invisible characters at its ends. */
export function stripped(text) {
  return text.replace(ENDS, "");
}

/** Return the first invisible character in the host or path of a URL, as "U+200B"; "" if none. */
export function invisibleIn(url) {
  const [found] = WITHIN.exec(url.split(/[?#]/)[0]) ?? [];
  return found ? `U+${found.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}` : "";
}
