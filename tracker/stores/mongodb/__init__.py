"""MongoDB: the one handle, documents, indexes, pages and transactions."""
