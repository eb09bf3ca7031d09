"""Console: the pages for people, as static files that use the API like any client."""
