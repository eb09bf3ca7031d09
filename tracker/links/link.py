"""A short link: the stored record, and the part of it that a redirect needs."""

import re
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from tracker.db.cache import Versioned

MAX_SLUG_CHARACTERS: Final = 64
SLUG = re.compile(rf"[A-Za-z0-9_-]{{1,{MAX_SLUG_CHARACTERS}}}")
SLUG_RULE: Final = f"1 to {MAX_SLUG_CHARACTERS} of A-Z a-z 0-9 _ -"


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """A short link. `domain_name` is empty on the default domain; `archived` links answer 404."""

    id: UUID
    account_id: UUID
    internal_name: str
    slug: str
    destination_url: str
    domain_id: UUID | None
    domain_name: str
    active: bool
    archived: bool
    tags: list[UUID]
    created_at: datetime
    version: int


class Target(Versioned, frozen=True, kw_only=True):
    """The cached form of an active link. Ids are the 16 bytes of a UUID, as in clicks."""

    id: bytes
    account_id: bytes
    slug: str
    domain_name: str
    destination_url: str


def target(link: Link) -> Target | None:
    """Return the cached form of a link; None if its visitors get 404."""
    if link.archived or not link.active:
        return None
    return Target(
        version=link.version,
        id=link.id.bytes,
        account_id=link.account_id.bytes,
        slug=link.slug,
        domain_name=link.domain_name,
        destination_url=link.destination_url,
    )
