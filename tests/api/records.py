"""The records that the API has written to the journal."""

from typing import Any
from uuid import UUID

from tests.factories import create_event_config, create_link
from tracker.clicks.click import Click
from tracker.conversions.event import Event
from tracker.db.keys import JOURNAL
from tracker.ingest.record import ENTRY_DECODER
from tracker.links.domain import Domain
from tracker.links.link import Link
from tracker.service.services import Services

make_config = create_event_config  # the name that the tests of the fast path use


async def make_link(
    services: Services,
    account_id: UUID,
    slug: str,
    destination_url: str,
    domain: Domain | None = None,
) -> Link:
    return await create_link(services, account_id, slug, destination_url, domain=domain)


async def journaled(services: Services) -> list[Click | Event]:
    """Return every record of the journal, oldest first."""
    entries: list[Any] = await services.redis.xrange(JOURNAL) or []
    return [record for _, fields in entries for record in ENTRY_DECODER.decode(fields)]


async def journaled_clicks(services: Services) -> list[Click]:
    return [record for record in await journaled(services) if isinstance(record, Click)]


async def journaled_events(services: Services) -> list[Event]:
    return [record for record in await journaled(services) if isinstance(record, Event)]
