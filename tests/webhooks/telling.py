"""Conversions as a drain settles and changes them, with the deliveries of their webhooks."""

from itertools import count
from typing import Any
from uuid import UUID

from tests.factories import Document, make_event_document
from tracker.clock import now
from tracker.service.services import Services
from tracker.stores.mongodb.documents import as_read
from tracker.webhooks.creation import create_deliveries
from tracker.webhooks.filters import Filter

_NUMBERS = count(7 * 10**12)


async def ask(services: Services, webhook_id: UUID, *events: str, **filters: Any) -> None:
    fields = {"events": list(events), "filter": Filter(**filters)}
    await services.webhooks.webhooks.change(webhook_id, fields)


def conversion(account_id: UUID, **fields: Any) -> Document:
    return make_event_document(next(_NUMBERS), account_id=account_id.bytes, metadata=None, **fields)


async def settle(services: Services, *conversions: Document) -> None:
    events = services.stores.mongodb["events"]
    await events.insert_many(as_read(one) for one in conversions)
    await tell(services, list(conversions), [])


async def change(services: Services, before: Document, **fields: Any) -> Document:
    """Store a change of a conversion, and return what it is then."""
    revision = before.get("revision", 0) + 1
    after = {**before, "revision": revision, **fields}
    await services.stores.mongodb["events"].replace_one({"_id": before["_id"]}, as_read(after))
    await tell(services, [], [(before, after)])
    return after


async def tell(
    services: Services, settled: list[Document], changes: list[tuple[Document, Document]]
) -> None:
    mongodb = services.stores.mongodb

    async with await mongodb.client.start_session() as session, session.start_transaction():
        due = await create_deliveries(mongodb.database, settled, session, changes)
    await services.webhooks.queue.add(due)


def restated(at_revision: int, **fields: Any) -> Document:
    return {"id": str(at_revision), "at": now(), "recorded_at": now(), **fields}
