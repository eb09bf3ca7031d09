"""Kept counts of links, by state and tag. Knows only the counted fields of a link."""
