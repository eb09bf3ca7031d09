"""Requests for short links, and what is stored of them."""

from typing import Any
from uuid import UUID

import orjson

from tests.factories import LANDING, create_link, insert_links
from tests.web.client import Response
from tests.web.world import World
from tracker.access.audit import AuditEntry
from tracker.accounts.accounts import Account
from tracker.ids import new_id
from tracker.links.link import Link
from tracker.service.services import Services

PATH = "/api/short-links"


async def create(world: World, **fields: Any) -> Response:
    sent = {"accountId": str(world.account.id), "destination_url": LANDING, **fields}
    return await world.api.post(PATH, **sent)


BULK = f"{PATH}/bulk"


async def archived(services: Services, account: Account, **fields: Any) -> Link:
    link = await create_link(services, account.id, **fields)
    return await services.links.links.change(link.id, {"archived": True})


async def audited(services: Services, account: Account) -> list[AuditEntry]:
    """Return the entries about short links, newest first."""
    entries, _ = await services.access.audit.page(account.id, 1, 100)
    return [one for one in entries if one.target.kind == "short_link"]


NEW = "https://new.example/page"


async def send(world: World, method: str, link_id: object, body: Any = None) -> Response:
    data = b"" if body is None else orjson.dumps(body)
    return await world.api.send(method, f"{PATH}/{link_id}", data)


async def stored(services: Services, link_id: UUID) -> dict[str, Any]:
    row = await services.stores.mongodb["links"].find_one({"_id": link_id})
    assert row is not None
    return row


async def make_many(services: Services, account: Account, number: int) -> list[str]:
    """Create links one after the other; return their slugs, newest first."""
    first = await create_link(services, account.id, "s0")
    row = await stored(services, first.id)
    others = [{**row, "_id": new_id(), "slug": f"s{one}"} for one in range(1, number)]
    if others:
        await insert_links(services, others)
    return [f"s{one}" for one in reversed(range(number))]
