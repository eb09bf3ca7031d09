"""Random clicks and events with so few links, visitors and ids that much coincides."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from random import Random
from typing import Any, NamedTuple
from uuid import UUID

from msgspec.structs import replace

from tests.conversions import scene
from tests.factories import AT_MS, CHROME, create_webhook, make_click, make_conversion
from tests.ingest.model import Model
from tracker.clicks.click import Click
from tracker.conversions.conversion import Conversion
from tracker.ids import new_id
from tracker.ingest.drain_number import DrainNumber
from tracker.ingest.record import Record
from tracker.service.services import Services

AGENTS = (CHROME, CHROME, CHROME + " Edg/126.0", "curl/8.0", "Googlebot/2.1")
DAY = 24 * 3600 * 1000
VALUES = (None, "0.1", "19.99", "-3")


class Traffic(NamedTuple):
    clicks: list[Click]
    events: list[Conversion]

    def records(self) -> list[Record]:
        return [*self.clicks, *self.events]


async def accounts_with_webhooks(services: Services) -> Model:
    """Create two accounts, with two webhooks and one; return a model of their documents.

    The last of each account is told of clicks too.
    """
    webhooks: dict[UUID, list[UUID]] = {}
    for number in (2, 1):
        account = await services.accounts.accounts.create("Acme")
        made = [await create_webhook(services, account.id) for _ in range(number)]
        both = {"events": ["conversion", "click.recorded"]}
        await services.webhooks.webhooks.change(made[-1].id, both)
        webhooks[account.id] = [one.id for one in made]
    return Model(services.clicks.enrichment.document, webhooks)


def traffic(
    random: Random, accounts: Sequence[UUID], clicks: int = 60, events: int = 60, first: int = 1
) -> Traffic:
    """Return clicks, and events from the id `first` that name them, others, or none."""
    links = [(random.choice(accounts), new_id()) for _ in range(4)]
    configs = [(account, new_id()) for account in accounts]
    made = [_click(random, *random.choice(links)) for _ in range(clicks)]
    for at, one in enumerate(made):
        if random.random() < 0.4:  # a click that may be of another account, newer, or itself
            query = f"click_id={UUID(bytes=random.choice(made).id)}"
            made[at] = replace(one, query=query)
    named = [*made, *(_click(random, *random.choice(links)) for _ in range(3))]
    ids = range(first, first + events)
    return Traffic(made, [_event(random, one, random.choice(named), configs) for one in ids])


def _click(random: Random, account_id: UUID, link_id: UUID) -> Click:
    return make_click(
        account_id,
        link_id=link_id.bytes,
        at=AT_MS + random.choice((0, DAY)),
        address=f"198.51.100.{random.randrange(4)}",
        user_agent=random.choice(AGENTS),
        query=random.choice(("", "utm_source=news&utm_term=", "cost=0.0525", "cost={bid}")),
        cost=random.choice((None, "0.25")),
        test=random.random() < 0.1,
    )


def _event(
    random: Random, number: int, click: Click, configs: Sequence[tuple[UUID, UUID]]
) -> Conversion:
    """Return an event accepted with an event config, with a known click, or with neither."""
    account, config = (one.bytes for one in random.choice(configs))
    fields: dict[str, Any] = random.choice(
        [
            {"account_id": account, "event_config_id": config, "transaction_scope": config},
            {"account_id": click.account_id, "transaction_scope": click.account_id},
            {"transaction_scope": click.id},
        ]
    )
    click_id: bytes | None = click.id
    if "event_config_id" in fields and random.random() < 0.3:
        click_id = None
        fields["test"] = random.random() < 0.3
    if random.random() < 0.4:
        fields["transaction_id"] = random.choice("tuT")
    else:
        del fields["transaction_scope"]
    fields["checked"] = random.random() < 0.3
    value = random.choice(VALUES)
    return make_conversion(number, click_id, value=value, payout=value, metadata="{}", **fields)


def batches_of(random: Random, records: Sequence[Record]) -> list[list[Record]]:
    """Return batches of all records, with a random order and sizes."""
    left = random.sample(records, len(records))
    batches = []
    while left:
        size = random.choice((1, 2, 5, 20))
        batches.append(left[:size])
        left = left[size:]
    return batches


class SharedNumber(DrainNumber):
    """A number that drains share, as when more drains live than there are numbers."""

    async def number(self) -> int:
        return 7


@asynccontextmanager
async def processes(services: Services, number: int) -> AsyncIterator[list[Services]]:
    async with AsyncExitStack() as stack:
        others = [
            await stack.enter_async_context(scene.process(services.settings))
            for _ in range(number - 1)
        ]
        yield [services, *others]
