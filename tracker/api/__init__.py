"""The HTTP API: the endpoint table, and one file a resource. Rules live in the rooms below."""
