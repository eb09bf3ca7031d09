"""The trial's own Redis and MongoDB: their programs, their folder, their processes."""
