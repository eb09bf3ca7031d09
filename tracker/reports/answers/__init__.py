"""Answers to reports: what they read, in whose turn, with which names and order."""
