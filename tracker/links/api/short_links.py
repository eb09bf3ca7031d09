"""`/api/short-links`: create, list, show, change and archive short links."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, Final, TypeVar
from uuid import UUID

from msgspec import UNSET

from tracker.access.audit import AuditAction
from tracker.access.principal import tags_within
from tracker.clock import now
from tracker.errors import BadRequest
from tracker.links.api.cursors import PageStart, cursor_of
from tracker.links.api.new_links import new_links
from tracker.links.api.option_schema import EXPIRED_URL, OptionsIn
from tracker.links.api.rules.checks import parts
from tracker.links.api.short_link_record import (
    ShortLink,
    TagReference,
    WrittenShortLink,
    records,
    written,
)
from tracker.links.api.short_link_schema import (
    CreatedShortLinks,
    CreateShortLink,
    CreateShortLinks,
    ListFilteredLinks,
    ListShortLinks,
    NewShortLink,
    ShortLinkPage,
)
from tracker.links.destination import DESTINATION_FIELD, OWN_REDIRECT, redirect_address
from tracker.links.link import Link
from tracker.links.lists.filter import LinkFilter, is_counted
from tracker.links.lists.link_lists import LinkPage
from tracker.links.services import LinkCall, LinkServices
from tracker.links.store import Links
from tracker.stores.mongodb.order import Position
from tracker.stores.mongodb.transaction import MongoSession
from tracker.web.call import Call, Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.export import Export
from tracker.web.export_stream import pieces
from tracker.web.limits import MAX_BULK_BODY_BYTES, MAX_BULK_LINKS
from tracker.web.resource import Resource, visible
from tracker.web.schema import pagination_of

endpoint = Endpoints("links")

Answer = TypeVar("Answer")


async def _check_all_new(services: LinkServices, body: CreateShortLinks) -> None:
    seen = set()
    for at, one in _numbered(body.links).items():
        await asyncio.sleep(0)
        try:
            await check_targets(services, one)
        except BadRequest as error:
            raise error.with_message(f"{at}{error.message}") from None
        if one.slug is not None and (one.domain_id, one.slug) in seen:
            raise BadRequest(f"{at}slug: repeated in this request")
        seen.add((one.domain_id, one.slug))


def _numbered(links: Sequence[NewShortLink]) -> dict[str, NewShortLink]:
    return {f"links[{number}].": one for number, one in enumerate(links)}


async def check_targets(services: LinkServices, body: OptionsIn) -> None:
    """Raises BadRequest if a destination is a redirect of this service, which could loop."""
    own = [(name, getattr(body, name, None)) for name in (DESTINATION_FIELD, EXPIRED_URL)]
    others = parts(body.rules, body.split)
    of_rules = [(f"{at}{DESTINATION_FIELD}", one.destination_url) for at, one in others]
    for field, url in (*own, *of_rules):
        address = redirect_address(url) if isinstance(url, str) else None
        if address is None:
            continue
        host, port = address
        if services.public_url.is_at(host, port) or await services.domains.serves(host):
            raise BadRequest(f"{field}: {OWN_REDIRECT}")


async def show_links(services: LinkServices, links: Sequence[Link]) -> list[ShortLink]:
    return await _records(services, links, await _named(services, _tags_of(links)))


async def _records(
    services: LinkServices, links: Sequence[Link], named: Mapping[UUID, TagReference]
) -> list[ShortLink]:
    limited = {one.id: one.account_id for one in links if one.max_clicks is not None}
    used, proven = await services.used_clicks.find(limited), await proven_domains(services, links)
    return records(services.public_url, links, named, used, proven)


async def proven_domains(services: LinkServices, links: Sequence[Link]) -> Collection[UUID]:
    return await services.domains.proven({link.domain_id for link in links if link.domain_id})


def _tags_of(links: Sequence[Link]) -> set[UUID]:
    return {tag_id for link in links for tag_id in link.tags}


async def _named(services: LinkServices, tag_ids: Collection[UUID]) -> Mapping[UUID, TagReference]:
    tags = await services.tags.find(tag_ids)
    return {tag_id: TagReference(id=tag_id, name=tag.name) for tag_id, tag in tags.items()}


_QUICK_ROWS: Final = 1_000
"""Rows that a page by number skips in its index without a permit: they take 2 ms."""

LINKS: Resource[Link, ShortLink] = Resource(
    "short link", lambda call: call.services.links.find(call.ids[0]), show_links, "internal_name"
)


async def find_own(call: Call[Any, Any, Any], links: Links) -> Link:
    """Return the path's link, archived or not. Raises NotFound or Forbidden as `own` does."""
    return call.check_owner("short link", await links.find(call.ids[0]))


async def all_links(
    call: LinkCall[ListShortLinks, Nothing],
) -> AsyncGenerator[list[ShortLink], None]:
    wanted, named = filter_of(call.query, call.principal.tags), dict[UUID, TagReference]()
    async for links in call.services.lists.all_of(call.account_id, wanted, call.query.sort):
        named |= await _named(call.services, _tags_of(links) - named.keys())
        for piece in pieces([visible(call.principal, one) for one in links]):
            yield await _records(call.services, piece, named)


@endpoint(
    "GET",
    "/api/short-links",
    "links:read",
    export=Export(
        "links",
        "Export all short links that pass the filters, as CSV or NDJSON",
        ShortLink,
        all_links,
    ),
    ends_with_client=True,
    limited=True,
)
async def list_links(call: LinkCall[ListShortLinks, Nothing]) -> ShortLinkPage:
    """List short links; archived ones only with `archived`."""
    query, start = call.query, call.query.start()
    number, after = start or (query.page, None)
    found = await _page(call, filter_of(query, call.principal.tags), number, after)
    following = found.next and PageStart(number + 1, found.next)
    return ShortLinkPage(
        rows=await LINKS.show_all(call, found.links),
        pagination=pagination_of(number, query.page_size, *found.total),
        next_cursor=following and cursor_of(call.account_id, query.sort, following),
    )


@endpoint(
    "POST",
    "/api/short-links",
    "links:write",
    check=check_targets,
    example={"destination_url": "https://example.com/offer", "internal_name": "Spring offer"},
    limited=True,
    idempotent=True,
)
async def create(call: LinkCall[Nothing, CreateShortLink]) -> WrittenShortLink:
    """Create a short link."""

    async def show(links: Sequence[Link]) -> WrittenShortLink:
        [link] = links
        return written(await LINKS.show(call, link), link)

    return await _create(call, {"": call.body}, show, at="")


@endpoint(
    "POST",
    "/api/short-links/bulk",
    "links:write",
    summary=f"Create up to {MAX_BULK_LINKS} short links, all or none",
    check=_check_all_new,
    example={"links": [{"destination_url": "https://example.com/offer"}]},
    body_bytes=MAX_BULK_BODY_BYTES,
    limited=True,
    operation_id="createShortLinks",
    idempotent=True,
)
async def create_many(call: LinkCall[Nothing, CreateShortLinks]) -> CreatedShortLinks:
    """Create several short links, all or none."""

    async def show(links: Sequence[Link]) -> CreatedShortLinks:
        rows = []
        for record, link in zip(await LINKS.show_all(call, links), links, strict=True):
            rows.append(written(record, link))
            await asyncio.sleep(0)  # to find the warnings of one may take 20 ms
        return CreatedShortLinks(rows=rows)

    return await _create(call, _numbered(call.body.links), show)


async def _create(
    call: LinkCall[Any, Any],
    sent: Mapping[str, NewShortLink],
    show: Callable[[Sequence[Link]], Awaitable[Answer]],
    at: str = "links[{}].",
) -> Answer:
    new = await new_links(call, sent)

    async def record(session: MongoSession, links: Sequence[Link]) -> None:
        targets = map(LINKS.audit_object, links)
        created = [AuditAction(action="short_link.created", target=one) for one in targets]
        await call.audit_all(created, session)
        await call.keep(session, partial(show, links))

    return await show(await call.services.links.create_all(new, record, at))


async def _page(
    call: LinkCall[ListShortLinks, Nothing], wanted: LinkFilter, page: int, after: Position | None
) -> LinkPage:
    """Return a page of links, in its turn if it may take long."""
    services, query = call.services, call.query
    is_near = after is not None or (page - 1) * query.page_size <= _QUICK_ROWS
    is_quick = (wanted.slug or wanted.external_id) is not None or (is_counted(wanted) and is_near)
    turn = nullcontext() if is_quick else services.long_lists.permit(call.account_id)
    async with turn:
        return await services.lists.page(
            call.account_id, wanted, page, query.page_size, query.sort, after
        )


def filter_of(query: ListFilteredLinks, limit: frozenset[UUID] | None) -> LinkFilter:
    """Return the filter of a list, within the tags that the principal is limited to."""
    tags, all_tags = tags_within(limit, query.tag_ids(), query.tag_operator == "AND")
    optional = ("slug", "external_id", "active", "state")
    given = {name: one for name in optional if (one := getattr(query, name)) is not UNSET}
    return LinkFilter(
        tags=list(tags),
        all_tags=all_tags,
        search=query.search,
        archived=query.archived,
        at=now(),
        utm=query.utm(),
        **given,
    )


@endpoint("GET", "/api/short-links/{id}", "links:read", limited=True, versioned=True)
async def show(call: LinkCall[Nothing, Nothing]) -> ShortLink:
    """Show a short link, even an archived one."""
    return await LINKS.show(call, await find_own(call, call.services.links))
