"""Checks of both stores when a process starts, and advice to operators."""
