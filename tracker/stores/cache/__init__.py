"""Caches of MongoDB documents in memory and in Redis, and the notices of changes."""
