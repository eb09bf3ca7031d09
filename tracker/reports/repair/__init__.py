"""Recounts of days from their documents: the check of rollups, and their repair."""
