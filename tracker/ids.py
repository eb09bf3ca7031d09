"""Identifiers: ids of resources and clicks, slugs, and secrets.

Ids are UUIDs of version 7, which sort by time; ids of events are numbers. Secrets come from the
operating system's generator.
"""

import re
import secrets
from hashlib import sha256
from typing import Final
from uuid import UUID

import uuid_utils
from uuid_utils.compat import uuid7

from tracker.errors import BadRequest

EXAMPLE_ID: Final = "0190b5a2-7c1e-7d3f-8a4b-5c6d7e8f9a0b"
UUID_RULE: Final = f"must be a UUID such as {EXAMPLE_ID}"
_CANONICAL: Final = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")

MAX_EVENT_ID: Final = 2**53 - 1
"""The highest whole number that every reader of JSON keeps exact."""

_WHOLE_NUMBER: Final = re.compile(r"[1-9][0-9]{0,15}")

_MAX_SLUG_CHARACTERS: Final = 64
SLUG: Final = re.compile(rf"[A-Za-z0-9_-]{{1,{_MAX_SLUG_CHARACTERS}}}")
SLUG_RULE: Final = f"1 to {_MAX_SLUG_CHARACTERS} of A-Z a-z 0-9 _ -"

SLUG_CHARACTERS: Final = 7

# No 0, O, 1, l and I, which look alike, and no vowels, so that no slug spells a word.
SLUG_ALPHABET: Final = "23456789bcdfghjkmnpqrstvwxyzBCDFGHJKLMNPQRSTVWXYZ"


def new_id() -> UUID:
    return uuid7()


def new_click_id() -> uuid_utils.UUID:
    """Return a UUIDv7 of a type whose bytes and text are cheap to make."""
    return uuid_utils.uuid7()


def id_text(uuid: bytes) -> str:
    """Return the text of the 16 bytes of a UUID, in a quarter of the time that UUIDs take."""
    digits = uuid.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def new_slug() -> str:
    return "".join(secrets.choice(SLUG_ALPHABET) for _ in range(SLUG_CHARACTERS))


def new_secret(prefix: str, size: int) -> str:
    return prefix + secrets.token_urlsafe(size)


def secret_digest(secret: str) -> bytes:
    """Return the form in which a secret is stored, also of text that cannot be one."""
    # Half of a surrogate pair has no UTF-8.
    return sha256(secret.encode(errors="replace")).digest()


def parse_id(field: str, text: object) -> UUID:
    """Return the UUID in `text`. Raises BadRequest if it is not in the canonical form."""
    if not isinstance(text, str) or not _CANONICAL.fullmatch(text):
        raise BadRequest(f"{field}: {UUID_RULE}")
    return UUID(text)


def parse_event_id(field: str, text: str) -> int:
    """Return an id from 1 to MAX_EVENT_ID. Raises BadRequest if `text` is none."""
    if not _WHOLE_NUMBER.fullmatch(text) or int(text) > MAX_EVENT_ID:
        raise BadRequest(f"{field}: must be a whole number from 1 to {MAX_EVENT_ID}")
    return int(text)
