"""Values of visitors as field names of rollups, and back. Pure.

A visitor chooses some of the values, so a field name must be safe in MongoDB whatever they hold.
"""

from urllib.parse import quote, unquote


def encoded(value: str) -> str:
    """Return `value` as a field name: without dots and dollars, and never empty."""
    return quote(value, safe=" ").replace(".", "%2E") or "%"


def decoded(name: str) -> str:
    """Return the value that `encoded` made the field name `name` of."""
    return "" if name == "%" else unquote(name)
