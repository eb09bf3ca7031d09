"""Rollups: what is counted in the transaction that stores a batch."""
