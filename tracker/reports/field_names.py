"""Values of visitors as field names of rollups. Pure.

A visitor chooses some of the values, so a field name must be safe in MongoDB whatever they hold.
"""

from urllib.parse import quote


def encoded(value: str) -> str:
    """Return `value` as a field name: without dots and dollars, and never empty."""
    return quote(value, safe=" ").replace(".", "%2E") or "%"
