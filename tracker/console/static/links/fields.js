/**
 * The texts of a link: in its form, on its page, in the list, and in lines that are pasted. A row
 * here is shown in each. Pure.
 */

/**
 * `headings` are other names of a column in pasted lines, `whenEmpty` what a new link gets instead,
 * `required` is for changes. All three may be left out. The first text is the link's title.
 */
export const TEXTS = [
  {
    name: "internal_name",
    label: "Name",
    most: 255,
    required: true,
    hint: "For you and your reports. Empty: the destination’s host and path.",
    whenEmpty: "from the destination",
    headings: ["name", "title"],
  },
  { name: "external_id", label: "External id", most: 255, hint: "The link’s id in your system." },
  { name: "notes", label: "Notes", most: 2000, rows: 2, hint: "For you, shown nowhere else." },
];

/** Return the texts as fields of the form of a link that is new, or is not. */
export function textFields(isNew) {
  return TEXTS.map(({ name, label, most, required, hint, rows }) => ({
    ...{ name, label, rows, maxlength: most },
    ...(isNew ? { hint } : { required }),
  }));
}

export const SLUG = /^[\w-]{1,64}$/;
export const SLUG_RULE = "1 to 64 of A-Z a-z 0-9 _ -";

/** Return the texts of a link by name; a missing text is empty. */
export function textsOf(link) {
  return Object.fromEntries(TEXTS.map(({ name }) => [name, link[name] ?? ""]));
}

/** Return the `fields` that are not empty. */
export function given(fields) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ""));
}

/** Return a domain as a choice: its id, and its name with what keeps it from serving links. */
export function domainOption({ id, domain_name, verified }) {
  return [id, verified ? domain_name : `${domain_name} (not verified)`];
}
