"""Caches in memory and in Redis of documents of MongoDB, and the news of their changes."""
