"""Values of visitors as field names of rollups. Pure.

A visitor chooses some of the values, so a field name must be safe in MongoDB whatever they hold.
"""

from typing import Final
from urllib.parse import quote, unquote

_EMPTY: Final = "%"


def encoded(value: str) -> str:
    """Return `value` as a field name: without dots and dollars, and never empty."""
    return quote(value, safe=" ").replace(".", "%2E") or _EMPTY


def decoded(name: str) -> str:
    """Return the value that a field name stands for."""
    return "" if name == _EMPTY else unquote(name)
