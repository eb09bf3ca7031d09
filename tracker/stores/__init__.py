"""Redis and MongoDB: clients, keys, indexes, and the ways of using them well.

A failed store raises its client's error: RedisError or PyMongoError.
"""
