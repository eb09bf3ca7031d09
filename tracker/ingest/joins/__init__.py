"""Joins of clicks with what is stored at another time, or by another drain."""
