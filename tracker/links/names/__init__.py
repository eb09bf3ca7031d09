"""The names by which visits find links on custom domains. Knows only the named fields of a link."""
