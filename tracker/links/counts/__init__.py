"""Kept counts of links, by state and tag. Knows nothing of a link but what is counted."""
