"""The proof that every answered request is stored and counted exactly once, whatever is killed."""
