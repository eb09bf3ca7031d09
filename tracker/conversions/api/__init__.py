"""Endpoints that report conversions, and those of their configurations."""
