"""A short link: the stored record, and its cached form for redirects."""

from datetime import datetime
from uuid import UUID

from tracker.links.options import LinkOptions, RedirectOptions
from tracker.stores.cache.cache import Versioned


class LinkFields(LinkOptions, frozen=True, kw_only=True):
    """The fields of a new link. Stored links lack newer fields, so these need defaults."""

    account_id: UUID
    internal_name: str
    destination_url: str
    domain_id: UUID | None
    domain_name: str
    tags: list[UUID]
    active: bool = True
    archived: bool = False


class Link(LinkFields, frozen=True, kw_only=True):
    """A stored short link. Visitors of `archived` links get 404. `names` are by `links/names`."""

    id: UUID
    slug: str
    created_at: datetime
    version: int
    last_click_at: datetime | None = None
    names: list[str] = []  # noqa: RUF012


class CachedLink(Versioned, frozen=True, kw_only=True, array_like=True):
    """The cached form of an active link. Ids are the 16 bytes of a UUID, as in clicks."""

    id: bytes
    account_id: bytes
    domain_name: str
    destination_url: str
    options: RedirectOptions | None = None


def cached_link(link: Link) -> CachedLink | None:
    """Return the cached form of a link; None if its visitors get 404."""
    if link.archived or not link.active:
        return None
    return CachedLink(
        version=link.version,
        id=link.id.bytes,
        account_id=link.account_id.bytes,
        domain_name=link.domain_name,
        destination_url=link.destination_url,
        options=RedirectOptions.of(link),
    )
