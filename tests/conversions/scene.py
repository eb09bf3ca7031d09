"""Set-up for tests of conversions and of the ingest: clicks, events, webhooks, processes."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec
from pymongo.errors import AutoReconnect

from config.settings import Settings
from tracker.clicks.click import Click
from tracker.clock import moment
from tracker.conversions.event import Event
from tracker.conversions.event_config import EventConfig, PayoutType
from tracker.conversions.parameters import Conversion
from tracker.ids import new_click_id, new_id
from tracker.ingest.consumer import Consumer
from tracker.ingest.drain import Drain
from tracker.ingest.record import Record
from tracker.ingest.slot import Slot
from tracker.links.link import Link
from tracker.links.store import NewLink
from tracker.service.services import Services
from tracker.webhooks.store import Webhook
from tracker.webhooks.template import DEFAULT

AT = 1_767_000_000_123
AWAY = AutoReconnect("MongoDB is away")
TARGET = "https://8.8.8.8/hook"
CHROME = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/126.0.0.0 Safari/537.36"
)


def click(account_id: UUID | None = None, click_id: UUID | None = None) -> Click:
    return Click(
        id=(click_id or new_click_id()).bytes,
        at=AT,
        account_id=(account_id or new_id()).bytes,
        link_id=new_id().bytes,
        domain_name="go.example.com",
        address="8.8.8.8",
        user_agent=CHROME,
        referrer="https://example.com/",
        purpose="",
        edge_country="",
        query="a=1",
    )


def event(number: int, click_id: bytes | None = None, **fields: Any) -> Event:
    """Return event `number`, naming `click_id`, without an event config unless `fields` tell."""
    known: dict[str, Any] = {
        "account_id": None,
        "event_config_id": None,
        "value": None,
        "payout": None,
        "metadata": None,
        "transaction_id": None,
        "transaction_scope": None,
    }
    return Event(id=number, at=AT + number % 1000, click_id=click_id, **(known | fields))


def conversion(**fields: Any) -> Conversion:
    known: dict[str, Any] = dict.fromkeys(Conversion.__struct_fields__)
    return Conversion(**(known | fields))


async def config(
    services: Services,
    account_id: UUID | None = None,
    payout_type: PayoutType = PayoutType.CPA,
    payout: str = "2.50",
) -> EventConfig:
    account_id = account_id or new_id()
    return await services.event_configs.create(account_id, "sale", payout_type, Decimal(payout))


def new_link(account_id: UUID, slug: str) -> NewLink:
    return NewLink(
        account_id=account_id,
        destination_url="https://example.com/",
        internal_name="A link",
        slug=slug,
        domain_id=None,
        domain_name="",
        tags=[],
    )


def click_of(link: Link) -> Click:
    """Return a click that was made when the events of the tests were."""
    ids = {"link_id": link.id.bytes, "domain_name": link.domain_name}
    return msgspec.structs.replace(click(link.account_id), **ids)


async def webhook(services: Services, account_id: UUID, target_url: str = TARGET) -> Webhook:
    """Create an active webhook that is older than every event of the tests."""
    made = await services.webhooks.create(account_id, "A", target_url, "POST", DEFAULT)
    long_ago = {"$set": {"created_at": moment(AT - 1)}}
    await services.database["webhooks"].update_one({"_id": made.id}, long_ago)
    return made


async def stored_click(services: Services, account_id: UUID) -> UUID:
    """Store a new click in MongoDB and return its id."""
    one = click(account_id)
    await services.database["clicks"].insert_one(dict(services.enrichment.document(one)))
    return UUID(bytes=one.id)


async def stored_events(services: Services) -> list[dict[str, Any]]:
    return [row async for row in services.database["events"].find().sort("_id", 1)]


def drain_of(services: Services) -> Drain:
    return services.drain(Slot(services.redis, services.mongodb))


async def applied(services: Services, records: Sequence[Record]) -> None:
    """Do what the drain does with one batch."""
    await drain_of(services).apply(records)


async def drained(services: Services) -> int:
    """Drain the journal into MongoDB and return the number of entries."""
    return await Consumer(services.redis, services.redis_waiting, drain_of(services).apply).burst()


async def dump(services: Services) -> dict[str, list[dict[str, Any]]]:
    """Return every document of the database."""
    names = await services.database.list_collection_names()
    return {
        name: [row async for row in services.database[name].find().sort("_id", 1)]
        for name in sorted(names)
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
