"""Recounts of days from their documents: the proof of rollups, and their repair."""
