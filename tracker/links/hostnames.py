"""Hostnames in their canonical form, and the rules for custom domains. Pure."""

import re
from functools import lru_cache

from tracker.errors import BadRequest
from tracker.syntax.hostname import ascii_hostname, check_encoded

MAX_HOSTNAME_CHARACTERS = 253
_MAX_ADDED_CHARACTERS = 244
"""The longest name that can be added: its proof needs a label before it."""

CACHED_HOSTNAMES = 10_000

_LABELS = re.compile(
    r"(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?\.)*"
    r"(?=[a-z0-9-]*[a-z])[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
)


def canonical_hostname(text: str) -> str:
    """Return `text` as a hostname: lower case, IDNA, no final dot. Empty if it is none."""
    # Visitors send it, so the length of cached texts must be limited too.
    return _canonical_hostname(text) if len(text) <= MAX_HOSTNAME_CHARACTERS + 1 else ""


@lru_cache(maxsize=CACHED_HOSTNAMES)
def _canonical_hostname(text: str) -> str:
    name = text.removesuffix(".").lower()
    if not name.isascii():
        try:
            name = ascii_hostname(name)
        except ValueError:
            return ""
    return name if len(name) <= MAX_HOSTNAME_CHARACTERS and _LABELS.fullmatch(name) else ""


# A last label that browsers read as a number makes the whole an IPv4 address.
_NUMBER = re.compile(r"0x[0-9a-f]*")


def checked_hostname(text: str) -> str:
    """Return the canonical form of a hostname. Raises BadRequest if no account may add it."""
    name = canonical_hostname(text)
    labels = name.split(".")
    if not name or "_" in name or _NUMBER.fullmatch(labels[-1]) or not all(map(_is_valid, labels)):
        raise BadRequest(
            "domain_name: must be a hostname such as go.example.com, without scheme, port, path "
            "or wildcard, and no IP address"
        )
    if len(labels) < 2:
        raise BadRequest("domain_name: at least two labels, as in go.example.com")
    if len(name) > _MAX_ADDED_CHARACTERS:
        raise BadRequest(
            f"domain_name: at most {_MAX_ADDED_CHARACTERS} characters in its ASCII form"
        )
    return name


def _is_valid(label: str) -> bool:
    try:
        check_encoded(label)
    except ValueError:
        return False
    return True
