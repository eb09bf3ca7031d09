"""The records that the API has written to the journal."""

from typing import Any

from tests.waiting import eventually
from tracker.clicks.click import Click
from tracker.conversions.conversion import Conversion
from tracker.ingest.record import ENTRY_DECODER, Record
from tracker.service.services import Services
from tracker.stores.redis.keys import JOURNAL, OVERFLOW


async def in_journal(services: Services) -> None:
    """Wait until Redis has every record: one that it took a second for is spooled."""

    async def nothing_waits() -> bool:
        if services.journal.journal.spool.bytes_waiting:
            await services.journal.journal.replay_once()
        return not services.journal.journal.spool.bytes_waiting

    await eventually(nothing_waits)


async def journaled(services: Services) -> list[Record]:
    """Return every record of the journal, oldest first; after them those of its overflow."""
    await in_journal(services)
    entries: list[Any] = []
    for stream in (JOURNAL, OVERFLOW):
        entries += await services.stores.redis.xrange(stream) or []
    return [record for _, fields in entries for record in ENTRY_DECODER.decode(fields)]


async def journaled_clicks(services: Services) -> list[Click]:
    return [record for record in await journaled(services) if isinstance(record, Click)]


async def journaled_events(services: Services) -> list[Conversion]:
    return [record for record in await journaled(services) if isinstance(record, Conversion)]
