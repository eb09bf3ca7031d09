"""The lists of an account's links: their kept counts. Knows nothing of links but their state."""
