/** The separator of a text whose lines have a URL, and maybe more: chosen, named or found. Pure. */

/** The separators and their names. */
export const SEPARATORS = [
  ["\t", "tab"],
  [";", "semicolon"],
  [",", "comma"],
  [" ", "space"],
];
const NAMED = /^\ufeff?"?sep=([\t;, ])"?[ \t]*(?=[\r\n]|$)/i;
// A comma in a query is part of it. One in a path may also end the URL.
const WITH_QUERY = /^[ \t]*((?:https?:\/\/)?[^\s"?#;,/]+\.[^\s"?#;,]*[?#][^\s"]*)[ \t]*$/gm;
const URL_ALONE = /^\s*(?:https?:\/\/)?[^\s"/;,]+\.[^\s"/;,]+\/[^\s"]*\s*$/;

/**
 * Return {text, separator, unsure} of a text: `unsure` is a separator that its lines may also have.
 *
 * It is `chosen`, a first line `sep=;` names it, or a header has it. Else half of the lines or more
 * have a second field that can be a slug, and not each of these lines may be one URL. The text has
 * no first line `sep=;`. If only its lines say the separator, whole URLs with a query get quotes.
 */
export function separated(text, isHeader, chosen) {
  const named = NAMED.exec(text);
  const plain = text.slice(named?.[0].length).replace(/^\ufeff/, "");
  const lines = plain.split(/\r\n|\n|\r/).filter((line) => line.trim());
  const found = (separator) => ({ text: plain, separator, unsure: "" });
  if (chosen || named) return found(chosen || named[1]);
  const ofHeader = SEPARATORS.find(([one]) => isHeader((lines[0] ?? "").split(one)));
  if (ofHeader) return found(ofHeader[0]);
  if (lines.some((line) => line.trim().includes("\t"))) return found("\t");
  const [best, second] = [";", ","]
    .map((separator) => ({ separator, ...votes(lines, separator) }))
    .sort((one, other) => other.all - one.all);
  if (best.sure && best.all > second.all && best.all * 2 >= lines.length)
    return { ...found(best.separator), text: plain.replace(WITH_QUERY, '"$1"') };
  return { ...found(" "), unsure: best.all ? best.separator : "" };
}

/** Return of how many lines a second field can be a slug, and whether one of them is no URL. */
function votes(lines, separator) {
  const fields = new RegExp(
    `^\\s*("[^"]*"|[^\\s"${separator}]+)\\s*${separator}\\s*"?[\\w-]{0,64}"?\\s*(?:${separator}|$)`,
  );
  const voting = lines.filter((line) => fields.test(line) && line.search(WITH_QUERY) < 0);
  return { all: voting.length, sure: voting.some((line) => !URL_ALONE.test(line)) };
}
