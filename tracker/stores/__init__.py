"""Redis and MongoDB: clients, keys, indexes, and the ways of using them well."""
