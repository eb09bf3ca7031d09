"""Hostnames in the one form in which they are compared; which ones may be custom domains. Pure."""

import re
from functools import lru_cache

import idna

from tracker.errors import BadRequest

_MAX_LENGTH = 253
_MAX_ADDED_LENGTH = 244
"""Longest name that can be added: a label for its proof has to fit before it."""
_LABELS = re.compile(
    r"(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?\.)*"
    r"(?=[a-z0-9-]*[a-z])[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
)


def canonical_hostname(text: str) -> str:
    """Lower case, IDNA names in their ASCII form, no final dot; empty if it is not a hostname."""
    # Visitors send it: what is remembered of them has to be bounded in size too.
    return _canonical_hostname(text) if len(text) <= _MAX_LENGTH + 1 else ""


@lru_cache(maxsize=10_000)
def _canonical_hostname(text: str) -> str:
    name = text.removesuffix(".").lower()
    if not name.isascii():
        try:
            name = idna.encode(name, uts46=True).decode()
        except idna.IDNAError:
            return ""
    return name if len(name) <= _MAX_LENGTH and _LABELS.fullmatch(name) else ""


# The last label as browsers read a number: the whole is an IPv4 address then.
_NUMBER = re.compile(r"0x[0-9a-f]*")


def checked_name(text: str) -> str:
    """The canonical form of a hostname that an account may add.

    Raises BadRequest naming `domain_name` and the rule.
    """
    name = canonical_hostname(text)
    labels = name.split(".")
    if not name or "_" in name or _NUMBER.fullmatch(labels[-1]) or not all(map(_is_idna, labels)):
        raise BadRequest(
            "domain_name: must be a hostname such as go.example.com, without scheme, port, path "
            "or wildcard, and no IP address"
        )
    if len(labels) < 2:
        raise BadRequest("domain_name: at least two labels, as in go.example.com")
    if len(name) > _MAX_ADDED_LENGTH:
        raise BadRequest(f"domain_name: at most {_MAX_ADDED_LENGTH} characters in its ASCII form")
    return name


def _is_idna(label: str) -> bool:
    """Whether an ASCII label that claims to stand for another one does."""
    if not label.startswith("xn--"):
        return True
    try:
        idna.ulabel(label)
    except idna.IDNAError:
        return False
    return True
