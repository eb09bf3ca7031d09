"""How URLs, queries, JSON and Accept headers are read: pure, for whoever needs it."""
