"""Redis and MongoDB: clients, keys, indexes, and the ways of using them well.

Where a store fails, whatever has asked it raises its client's error: RedisError or PyMongoError.
"""
