"""Paths of URLs: as sent, as they are compared, and as they are written. Pure.

A name is a path without its first slash, decoded, in NFC, and without a slash at its end.
"""

import re
from typing import Final
from unicodedata import normalize
from urllib.parse import quote, unquote_to_bytes

MAX_NAME_BYTES: Final = 255

_PLAIN: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_FORBIDDEN: Final = re.compile(r"^/|/$|[\x00-\x1f\x7f-\x9f]")
_WRITTEN: Final = str.maketrans({char: quote(char) for char in "%?# "})
_SAFE: Final = "/!$&'()*+,;=:@~"


def name_of(path: str, encoding: str = "latin-1") -> str:
    """Return the name in a path, which has no first slash; empty if no link can have it."""
    if _PLAIN.fullmatch(path):
        return path  # most names, in half the time
    if "%" in path or not path.isascii():
        try:
            path = normalize("NFC", unquote_to_bytes(path.encode(encoding)).decode())
        except UnicodeError:
            return ""
    name = path.removesuffix("/")
    if len(name) > MAX_NAME_BYTES or _FORBIDDEN.search(name):
        return ""
    return name if name.isascii() or len(name.encode()) <= MAX_NAME_BYTES else ""


def folded(name: str) -> str:
    """Return the form of a name in which case does not count. A slash tells it from names."""
    return "/" + normalize("NFC", name.casefold())


def written(name: str) -> str:
    """Return a name as people read it; `name_of` makes it a name again."""
    return name.translate(_WRITTEN)


def encoded(name: str) -> str:
    return quote(name, safe=_SAFE)
