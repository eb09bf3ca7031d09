/** Names of tags: which are equal, and which are new. Pure. */

/** Return the form of a name that equal ones share: `_key` of tracker/links/tags, in JavaScript. */
export function folded(name) {
  // Letter by letter: a sigma that ends a word has another small form.
  const fold = (letter) =>
    letter === "ı" ? letter : letter.toLowerCase().toUpperCase().toLowerCase();
  return [...name.normalize("NFD")].map(fold).join("").normalize("NFD");
}

/** Return the ids of tags by their folded names. */
export function tagIds(tags) {
  return new Map(tags.map(({ id, name }) => [folded(name), id]));
}

/** Return the names of tags that rows have and the account does not, each once. */
export function missingTags(rows, tags) {
  if (!tags) return [];
  const ids = tagIds(tags);
  const missing = new Map();
  for (const name of rows.flatMap((row) => row.tags)) {
    const key = folded(name);
    if (!ids.has(key) && !missing.has(key)) missing.set(key, name);
  }
  return [...missing.values()];
}
