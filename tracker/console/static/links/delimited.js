/** Delimited text: CSV (RFC 4180) with any separator, of one character. Pure. */

import { stripped } from "console/links/invisible";

/**
 * Yield {line, cells} of each row that is not empty. `line` is where it begins, counted from 1 as
 * an editor does: empty lines and line breaks within quotes count. Cells are trimmed.
 */
export function* delimitedRows(text, separator) {
  const cell = new RegExp(
    `( *"(?:[^"]|"")*" *|[^${separator}\\r\\n]*)(${separator}|\\r\\n|\\n|\\r|$)`,
    "y",
  );
  let line = 1;
  let row = { line, cells: [] };
  while (cell.lastIndex <= text.length) {
    const start = cell.lastIndex;
    const [whole, content, end] = cell.exec(text);
    row.cells.push(stripped(unquoted(stripped(content))));
    line += whole.split(/\r\n|\n|\r/).length - 1;
    if (end !== separator) {
      if (row.cells.some(Boolean)) yield row;
      row = { line, cells: [] };
    }
    if (!end) return;
    cell.lastIndex = start + whole.length;
  }
}

function unquoted(content) {
  return /^".*"$/s.test(content) && content.length > 1
    ? content.slice(1, -1).replaceAll('""', '"')
    : content;
}

const IGNORED =
  "[\"'\\x00-\\x08\\x0b\\x0c\\x0e-\\x20\\x7f-\\xa0\\u2000-\\u200f\\u2028-\\u202f\\u2060\\u3000\\ufeff]*";
const APOSTROPHE = new RegExp(
  `(^|[;\\t\\r\\n])'(?=${IGNORED}[=+\\-@\\uff1d\\uff0b\\uff0d\\uff20])|^'(?=[ "']*[\\t\\r])`,
  "g",
);

/** Return a cell of a download without the apostrophes that keep a spreadsheet from running it. */
export function withoutApostrophes(cell) {
  return cell.replace(APOSTROPHE, "$1");
}

/** Encodings of files, and their names, for people to choose: nothing in a file tells them. */
export const ENCODINGS = [
  ["windows-1252", "Windows-1252, Western"],
  ["windows-1251", "Windows-1251, Cyrillic"],
  ["shift_jis", "Shift_JIS, Japanese"],
];

/** Return the text of a file, in an encoding; else in UTF-8, UTF-16 or Windows-1252, as of Excel. */
export function decoded(buffer, encoding) {
  if (encoding) return new TextDecoder(encoding).decode(buffer);
  const [first, second] = new Uint8Array(buffer);
  const found = first === 0xff && second === 0xfe ? "utf-16le" : "utf-8";
  try {
    return new TextDecoder(found, { fatal: true }).decode(buffer);
  } catch {
    return new TextDecoder("windows-1252").decode(buffer);
  }
}
