"""The links that a request creates, and its references to other objects."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from tracker.errors import BadRequest, NotFound
from tracker.links.api.option_schema import fields_of, rule_fields
from tracker.links.api.short_link_schema import NewShortLink
from tracker.links.domain import Domain
from tracker.links.link import NewLink
from tracker.links.rules.identity import NEW_LINK
from tracker.links.services import LinkCall
from tracker.links.tags import Tag
from tracker.web.call import Owned
from tracker.web.limits import MAX_TEXT_CHARACTERS


async def new_links(call: LinkCall[Any, Any], sent: Mapping[str, NewShortLink]) -> list[NewLink]:
    """Return the links to store.

    Raises Forbidden or NotFound as `check_own` does, and BadRequest for options that break a rule.
    """
    domain_ids = {one.domain_id for one in sent.values() if one.domain_id}
    domains: dict[UUID | None, Domain | None] = {
        domain_id: await call.services.domains.find(domain_id) for domain_id in domain_ids
    }
    tags = await call.services.tags.find({tag_id for one in sent.values() for tag_id in one.tags})
    named: list[tuple[str, UUID, Domain | Tag | None]] = []
    for at, one in sent.items():
        if one.domain_id:
            named.append((f"{at}domain_id", one.domain_id, domains[one.domain_id]))
        named += [(f"{at}tags", tag_id, tags.get(tag_id)) for tag_id in one.tags]
        call.principal.check_tags(one.tags, f"{at}tags")
    check_own(call, named)
    new = []
    for at, one in sent.items():
        await asyncio.sleep(0)  # many rules take 10 ms
        fields, domain = await fields_of(one, call.services.passwords), domains.get(one.domain_id)
        try:
            new.append(new_link(call.account_id, one, fields, domain))
        except BadRequest as error:
            raise error.with_message(f"{at}{error.message}") from None
    return new


def new_link(
    account_id: UUID, sent: NewShortLink, fields: Mapping[str, Any], domain: Domain | None
) -> NewLink:
    """Return the link to store. `fields` are those of `sent`, with the hash of its password.

    Raises BadRequest if a rule or variant has an id, which it gets here.
    """
    given = {
        **fields,
        **rule_fields(sent, NEW_LINK),
        "account_id": account_id,
        "internal_name": sent.internal_name or _default_name(sent.destination_url),
        "domain_name": domain.domain_name if domain else "",
    }
    return NewLink(**given)


def check_own(call: LinkCall[Any, Any], named: Sequence[tuple[str, UUID, Owned | None]]) -> None:
    """Check references to other objects, each a field, an id, and the object found.

    Raises Forbidden if one is another account's, else NotFound if one does not exist.
    """
    for name, _, found in named:
        if found is not None:
            call.check_owner(name, found)
    for name, missing_id, found in named:
        if found is None:
            raise NotFound(f"{name}: not found: {missing_id}")


def _default_name(url: str) -> str:
    """Return host and path of a checked destination."""
    parts = urlsplit(url)
    return f"{parts.netloc}{parts.path}".rstrip("/")[:MAX_TEXT_CHARACTERS]
