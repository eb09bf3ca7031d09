"""Imports of links and visits from other services."""
