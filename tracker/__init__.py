"""Short tracking links: clicks recorded exactly once, conversions and reports."""

__version__ = "1.0.0"
"""The single place of the version."""
