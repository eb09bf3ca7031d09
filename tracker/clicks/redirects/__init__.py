"""The redirects of short links: which a visitor gets, and when."""
