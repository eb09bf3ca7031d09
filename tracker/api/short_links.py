"""`/api/short-links`."""

from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import msgspec

from tracker.api.body import account_id, parse_body
from tracker.api.protected import ProtectedHandler
from tracker.clock import iso
from tracker.errors import BadRequest, Forbidden, NotFound
from tracker.ids import parse_id
from tracker.links import destination
from tracker.links.domains import Domain
from tracker.links.link import SLUG, Link
from tracker.links.store import NewLink
from tracker.links.tags import Tag

_NAME_LENGTH = 255
_TAGS = 100


class CreateShortLink(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    account_id: str
    destination_url: str
    internal_name: str | None = None
    slug: str | None = None
    domain_id: str | None = None
    tags: list[str] = []


class ShortLinks(ProtectedHandler):
    methods = ("POST",)

    async def post(self) -> None:
        sent = parse_body(CreateShortLink, self.body())
        account = account_id(sent.account_id)
        name, slug = _checked_name(sent), _checked_slug(sent.slug)
        domain_id = None if sent.domain_id is None else parse_id("domain_id", sent.domain_id)
        tag_ids = _checked_tags(sent.tags)
        await self._check_destination(sent.destination_url)
        self.require_access(account, "links:write")
        domain = await self._domain(domain_id)
        tags = await self._tags(tag_ids)
        link = await self.services.links.create(
            NewLink(
                account_id=account,
                destination_url=sent.destination_url,
                internal_name=name,
                slug=slug,
                domain_id=domain_id,
                domain_name="" if domain is None else domain.domain_name,
                tags=tag_ids,
            )
        )
        self.answer(self._shown(link, tags))

    async def _check_destination(self, url: str) -> None:
        """Raises BadRequest; a redirect on anybody's custom domain would be a loop too."""
        own = self.services.base
        destination.check(url, lambda host, port: (host, port) == (own.host, own.port))
        address = destination.redirect_address(url)
        if address and await self.services.domains.by_name(address[0]) is not None:
            raise BadRequest(destination.OWN_REDIRECT)

    async def _domain(self, domain_id: UUID | None) -> Domain | None:
        if domain_id is None:
            return None
        domain = await self.services.domains.find(domain_id)
        if domain is None:
            raise NotFound("domain_id: not found")
        self._require_own("domain_id", domain.account_id)
        return domain

    async def _tags(self, ids: list[UUID]) -> list[Tag]:
        found = await self.services.tags.find(ids)
        for tag in found.values():
            self._require_own("tags", tag.account_id)
        if missing := [str(tag_id) for tag_id in ids if tag_id not in found]:
            raise NotFound(f"tags: not found: {', '.join(missing)}")
        return [found[tag_id] for tag_id in ids]

    def _require_own(self, field: str, owner: UUID) -> None:
        if owner != self.key.account_id:
            raise Forbidden(f"{field}: belongs to another account")

    def _shown(self, link: Link, tags: list[Tag]) -> dict[str, Any]:
        base = self.services.base
        return {
            "id": link.id,
            "internal_name": link.internal_name,
            "slug": link.slug,
            "destination_url": link.destination_url,
            "domain_name": link.domain_name or base.host,
            "active": link.active,
            "tags": [{"id": tag.id, "name": tag.name} for tag in tags],
            "created_at": iso(link.created_at),
            "short_url": f"{base.origin(link.domain_name)}/c/{link.slug}",
        }


def _checked_slug(slug: str | None) -> str | None:
    if slug is not None and not SLUG.fullmatch(slug):
        raise BadRequest("slug: 1 to 64 of A-Z a-z 0-9 _ -")
    return slug


def _checked_name(sent: CreateShortLink) -> str:
    if sent.internal_name is None:
        parts = urlsplit(sent.destination_url)
        return f"{parts.netloc}{parts.path}".rstrip("/")[:_NAME_LENGTH]
    name = sent.internal_name.strip()
    if not name or len(name) > _NAME_LENGTH or not name.isprintable():
        raise BadRequest(f"internal_name: 1 to {_NAME_LENGTH} printable characters")
    return name


def _checked_tags(texts: list[str]) -> list[UUID]:
    """Without repetitions, in order."""
    if len(texts) > _TAGS:
        raise BadRequest(f"tags: at most {_TAGS}")
    return list(dict.fromkeys(parse_id("tags", text) for text in texts))
