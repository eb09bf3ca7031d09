"""The built-in Redis and MongoDB of a trial: their programs, data folder and child processes."""
