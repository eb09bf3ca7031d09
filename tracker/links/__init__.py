"""Short links, their custom domains and tags: the records, their stores and caches."""
