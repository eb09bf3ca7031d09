"""Set-up for tests of conversions and of the ingest: drains, further processes, stored rows."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from pymongo.read_concern import ReadConcern

from config.settings import Settings
from tests.web.records import in_journal
from tracker.conversions.recorder import RecordedConversion
from tracker.ingest.consumer import Consumer
from tracker.ingest.drain import Drain
from tracker.ingest.drain_number import DrainNumber
from tracker.ingest.record import Record
from tracker.service.services import Services


def repeated(first: RecordedConversion) -> RecordedConversion:
    """Return the answer to a conversion with the transaction id of `first`."""
    return first._replace(is_duplicate=True)


async def stored_events(services: Services) -> list[dict[str, Any]]:
    return [row async for row in services.stores.mongodb["events"].find().sort("_id", 1)]


def drain_of(services: Services) -> Drain:
    return services.ingest.drain(DrainNumber(services.stores.redis, services.stores.mongodb))


async def applied(services: Services, records: Sequence[Record]) -> None:
    """Do what the drain does with one batch."""
    await drain_of(services).apply(records)


async def burst(consumer: Consumer) -> int:
    """Apply the entries that are there, stale ones included; return their number."""
    total = 0
    while applied := await consumer._step(block=None):
        total += applied
    return total


async def drained(services: Services) -> int:
    """Drain the journal and what a slow moment has spooled; return the number of entries."""
    await in_journal(services)
    stores = services.stores
    return await burst(Consumer(stores.redis, stores.redis_blocking, drain_of(services).apply))


async def dump(services: Services) -> dict[str, list[dict[str, Any]]]:
    """Return every document of the database, whether or not a majority has it already."""
    database = services.stores.mongodb.database.with_options(read_concern=ReadConcern("local"))
    names = await database.list_collection_names()
    return {
        name: [row async for row in database[name].find().sort("_id", 1)] for name in sorted(names)
    }


@asynccontextmanager
async def process(settings: Settings) -> AsyncIterator[Services]:
    """Yield the objects of one more process."""
    services = Services(settings)
    try:
        yield services
    finally:
        await services.stop()
        await services.close()
