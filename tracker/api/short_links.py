"""`/api/short-links`."""

import re
from collections.abc import Mapping
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
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_DEFAULT_PORTS = {80, 443}


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
        name, slug = _checked_name(sent.internal_name), _checked_slug(sent.slug)
        domain_id = None if sent.domain_id is None else parse_id("domain_id", sent.domain_id)
        tag_ids = _checked_tags(sent.tags)
        await self._check_destination(sent.destination_url)
        self.require_access(account, "links:write")
        domain, tags = await self._found(domain_id, tag_ids)
        link = await self.services.links.create(
            NewLink(
                account_id=account,
                destination_url=sent.destination_url,
                internal_name=name or _default_name(sent.destination_url),
                slug=slug,
                domain_id=domain_id,
                domain_name="" if domain is None else domain.domain_name,
                tags=tag_ids,
            )
        )
        self.answer(self._shown(link, tags))

    async def _check_destination(self, url: str) -> None:
        """Raises BadRequest; a redirect on anybody's custom domain would be a loop too."""
        destination.check(url, self._is_own)
        address = destination.redirect_address(url)
        if address and await self.services.domains.by_name(address[0]) is not None:
            raise BadRequest(destination.OWN_REDIRECT)

    def _is_own(self, host: str, port: int) -> bool:
        """Also on the scheme's other port: proxies send http to https, and that is a loop."""
        own = self.services.base
        return host == own.host and (port == own.port or {port, own.port} == _DEFAULT_PORTS)

    async def _found(
        self, domain_id: UUID | None, tag_ids: list[UUID]
    ) -> tuple[Domain | None, list[Tag]]:
        """Raises Forbidden if any is another account's; only then NotFound if any is missing."""
        domain = None if domain_id is None else await self.services.domains.find(domain_id)
        tags = await self.services.tags.find(tag_ids)
        if domain is not None:
            self._require_own("domain_id", domain.account_id)
        for tag in tags.values():
            self._require_own("tags", tag.account_id)
        if domain is None and domain_id is not None:
            raise NotFound("domain_id: not found")
        return domain, _in_order(tag_ids, tags)

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


def _checked_name(name: str | None) -> str | None:
    if name is None:
        return None
    name = name.strip()
    if not 1 <= len(name) <= _NAME_LENGTH or _CONTROL.search(name):
        raise BadRequest(f"internal_name: 1 to {_NAME_LENGTH} characters, no control characters")
    return name


def _default_name(url: str) -> str:
    """Host and path of a checked destination."""
    parts = urlsplit(url)
    return f"{parts.netloc}{parts.path}".rstrip("/")[:_NAME_LENGTH]


def _checked_tags(texts: list[str]) -> list[UUID]:
    """Without repetitions, in order."""
    if len(texts) > _TAGS:
        raise BadRequest(f"tags: at most {_TAGS}")
    return list(dict.fromkeys(parse_id("tags", text) for text in texts))


def _in_order(ids: list[UUID], tags: Mapping[UUID, Tag]) -> list[Tag]:
    if missing := [str(tag_id) for tag_id in ids if tag_id not in tags]:
        raise NotFound(f"tags: not found: {', '.join(missing)}")
    return [tags[tag_id] for tag_id in ids]
