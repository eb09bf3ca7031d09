"""The records that the API has written to the journal."""

from typing import Any

from tracker.clicks.click import Click
from tracker.conversions.conversion import Conversion
from tracker.ingest.record import ENTRY_DECODER
from tracker.service.services import Services
from tracker.stores.redis.keys import JOURNAL, OVERFLOW


async def journaled(services: Services) -> list[Click | Conversion]:
    """Return every record of the journal, oldest first; after them those of its overflow."""
    entries: list[Any] = []
    for stream in (JOURNAL, OVERFLOW):
        entries += await services.stores.redis.xrange(stream) or []
    return [record for _, fields in entries for record in ENTRY_DECODER.decode(fields)]


async def journaled_clicks(services: Services) -> list[Click]:
    return [record for record in await journaled(services) if isinstance(record, Click)]


async def journaled_events(services: Services) -> list[Conversion]:
    return [record for record in await journaled(services) if isinstance(record, Conversion)]
