"""Rollups: sums that are counted in the transaction that stores a batch."""
