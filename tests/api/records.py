"""Records that tests of the web need, and what the web has written to the journal."""

from decimal import Decimal
from typing import Any
from uuid import UUID

from tracker.clicks.click import Click
from tracker.conversions.event import Event
from tracker.conversions.event_config import EventConfig, PayoutType
from tracker.db.keys import JOURNAL
from tracker.ingest.record import ENTRIES
from tracker.links.domain import Domain
from tracker.links.link import Link
from tracker.links.store import NewLink
from tracker.service.services import Services

LANDING = "https://example.com/landing"


async def make_link(
    services: Services,
    account_id: UUID,
    slug: str = "abc",
    destination_url: str = LANDING,
    domain: Domain | None = None,
) -> Link:
    return await services.links.create(
        NewLink(
            account_id=account_id,
            destination_url=destination_url,
            internal_name="A link",
            slug=slug,
            domain_id=domain.id if domain else None,
            domain_name=domain.domain_name if domain else "",
            tags=[],
        )
    )


async def make_config(
    services: Services, account_id: UUID, payout_type: PayoutType = PayoutType.CPA
) -> EventConfig:
    return await services.event_configs.create(account_id, "Purchase", payout_type, Decimal(2))


async def journaled(services: Services) -> list[Click | Event]:
    """Every record of the journal, oldest first."""
    entries: list[Any] = await services.redis.xrange(JOURNAL) or []
    return [record for _, fields in entries for record in ENTRIES.decode(fields)]


async def journaled_clicks(services: Services) -> list[Click]:
    return [record for record in await journaled(services) if isinstance(record, Click)]


async def journaled_events(services: Services) -> list[Event]:
    return [record for record in await journaled(services) if isinstance(record, Event)]
