"""A short link: the stored record, its changes, and its cached form for redirects."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
from msgspec.structs import replace

from tracker.clock import now, now_ms
from tracker.ids import new_id
from tracker.links.destination import utm_of
from tracker.links.options import (
    LinkOptions,
    RedirectOptions,
    check_options,
    check_paths,
    without_defaults,
)
from tracker.links.words import words_of
from tracker.stores.cache.cache import Versioned
from tracker.stores.mongodb.documents import as_document
from tracker.stores.mongodb.transaction import MongoSession


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
    """A stored short link. Visitors of `archived` links get 404. `names` are by `links/names`.

    `renewed_version` is the last version that no person made: its imported hash was made anew.
    """

    id: UUID
    slug: str
    created_at: datetime
    version: int
    last_click_at: datetime | None = None
    renewed_version: int | None = None
    names: list[str] = []  # noqa: RUF012

    @property
    def revision(self) -> int:
        """Return the version that a person made last."""
        return self.version - (self.version == self.renewed_version)


class NewLink(LinkFields, frozen=True, kw_only=True):
    """A checked link to create. Without a `slug` it gets a random one.

    `created_at` is of a link that was created elsewhere.
    """

    slug: str | None
    created_at: datetime | None = None


class Revision(NamedTuple):
    """A link before and after a change."""

    before: Link
    after: Link


Committed = Callable[[], Awaitable[None]]
Tell = Callable[[Sequence[tuple[Link | None, Link]], MongoSession], Awaitable[Committed]]
"""Tells of links before and after, in their transaction. The result is called after it."""


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


def document_of(link: Link) -> dict[str, Any]:
    """Return a link as stored: with its UTM values and words, for lists, and what it uses."""
    words = words_of(link.slug, link.destination_url, " ".join((link.internal_name, *link.paths)))
    fields = without_defaults(as_document(link))
    return {**fields, **utm_of(link.destination_url), "words": words}


def revised_link(link: Link, fields: Mapping[str, Any]) -> Link:
    """Return the link with the fields. Raises BadRequest if options exclude each other."""
    revised = replace(link, **fields)
    check_options(revised)
    check_paths(revised.paths, revised.domain_id)
    return link if revised == link else replace(revised, version=link.version + 1)


def update_of(revision: Revision) -> dict[str, Any]:
    """Set what has changed, and the fields for lists, which a link of an earlier release lacks."""
    before, after = without_defaults(as_document(revision.before)), document_of(revision.after)
    fields = {
        name: value for name, value in after.items() if name not in before or value != before[name]
    }
    unused = dict.fromkeys(before.keys() - after.keys(), "")
    if revision.before.max_clicks != revision.after.max_clicks:
        unused["used_up_at"] = ""  # until a visitor finds it used up again (`links/used_clicks`)
    return {"q": {"_id": after["_id"]}, "u": {"$set": fields, "$unset": unused}}


def link_of(new: NewLink, slug: str) -> Link:
    given = {**msgspec.structs.asdict(new), "slug": slug, "created_at": new.created_at or now()}
    return Link(**given, id=new_id(), version=now_ms())
