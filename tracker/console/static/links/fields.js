/** The texts of a link: in its form, and in lines that are pasted. Pure. */

export const TEXTS = [
  {
    name: "internal_name",
    label: "Name",
    most: 255,
    hint: "For you and your reports. Empty: the destination’s host and path.",
    required: true,
  },
];

export const SLUG = /^[\w-]{1,64}$/;
export const SLUG_RULE = "1 to 64 of A-Z a-z 0-9 _ -";

/** Return the texts of a link by name; those that it lacks are empty. */
export function textsOf(link) {
  return Object.fromEntries(TEXTS.map(({ name }) => [name, link[name] ?? ""]));
}

/** Return `fields` without those that are empty. */
export function given(fields) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ""));
}
