"""The accounts of a run and their clicks and conversions, stored through the drain."""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from datetime import time as time_of_day
from decimal import Decimal
from ipaddress import IPv4Address
from typing import Final, NamedTuple
from uuid import UUID

from pymongo.errors import PyMongoError
from redis.exceptions import RedisError

from lab.requests import AGENTS
from lab.scene import new_link
from scripts.progress import Progress
from tracker.clicks.click import Click
from tracker.conversions.conversion import Conversion
from tracker.conversions.event_config import EventConfig, PayoutType
from tracker.ids import new_click_id
from tracker.ingest.consumer import BATCH_RECORDS
from tracker.ingest.drain import Drain
from tracker.ingest.record import Record
from tracker.reports.periods import DayRange
from tracker.service.services import Services

CONVERSION_SHARE: Final = 0.02
VISITORS: Final = 200_000
TAGS: Final = 10
COUNTRIES: Final = (
    *("US", "GB", "DE", "FR", "IN", "BR", "CA", "AU", "NL", "ES", "IT", "MX", "PL", "SE", "JP"),
    *("KR", "ID", "TR", "PH", "VN", "TH", "ZA", "NG", "EG", "AR", "CO", "CL", "PE", "PT", "BE"),
    *("AT", "CH", "DK", "NO", "FI", "IE", "CZ", "RO", "GR", "HU"),
)
_DIRECT_SHARE: Final = 0.3
_REFERRERS: Final = 300
_CAMPAIGNS: Final = 40
_MEDIA: Final = ("email", "cpc", "banner", "social")
_LINKS_PER_INSERT: Final = 250
_ATTEMPTS: Final = 5
_EVENT_IDS: Final = 10**10
"""Event ids of one account, so that those of all accounts are different."""

CampaignOf = Callable[[random.Random, int], str]
"""The campaign of a click, by its number."""


class Account(NamedTuple):
    """An account whose reports are timed. `number` tells it from others of the run."""

    number: int
    id: UUID
    links: Sequence[UUID]
    tags: Sequence[UUID]
    config: EventConfig
    days: DayRange


def days_until_yesterday(days: int, now: datetime | None = None) -> DayRange:
    """Return that many days, of which the last is yesterday: reports are mostly of these."""
    last = (now or datetime.now(UTC)).date() - timedelta(1)
    return DayRange(last - timedelta(days - 1), last)


async def new_account(services: Services, number: int, links: int, days: DayRange) -> Account:
    """Create an account with links that have a tag each, and an event configuration."""
    account = await services.accounts.accounts.create(f"Bench {number}")
    tags = [(await services.links.tags.create(account.id, f"tag {one}")).id for one in range(TAGS)]
    ids: list[UUID] = []
    new = [
        new_link(
            account.id, f"bench{number}-{one}", "https://example.com/", tags=[tags[one % TAGS]]
        )
        for one in range(links)
    ]
    for first in range(0, links, _LINKS_PER_INSERT):
        made = await services.links.links.create_all(new[first : first + _LINKS_PER_INSERT])
        ids += [link.id for link in made]
    config = await services.conversions.event_configs.create(
        account.id, "Sale", PayoutType.CPA, Decimal(5)
    )
    return Account(number, account.id, ids, tags, config, days)


def usual_campaign(chance: random.Random, number: int) -> str:
    """Return one of some campaigns, a few of which have most clicks."""
    return f"campaign-{int(_CAMPAIGNS * chance.random() ** 2)}"


def traffic(
    account: Account, numbers: range, step: range, campaign_of: CampaignOf = usual_campaign
) -> Iterator[Record]:
    """Yield the clicks with these numbers, and the conversions of some of them.

    The clicks of a `step` are spread over all days, in order.
    """
    base = account.number * _EVENT_IDS
    chance = random.Random(base + numbers.start)  # noqa: S311  the same for the same clicks
    midnight = datetime.combine(account.days.first, time_of_day(), UTC)
    start = int(midnight.timestamp() * 1000)
    apart = account.days.days * 86_400_000 / len(step)
    for number in numbers:
        at = start + int((number - step.start) * apart)
        click = _click(account, chance, at, _query(chance, number, campaign_of))
        yield click
        if chance.random() < CONVERSION_SHARE:
            yield _event(account, click, base + number + 1)


def _click(account: Account, chance: random.Random, at: int, query: str) -> Click:
    visitor = chance.randrange(VISITORS)
    is_direct = chance.random() < _DIRECT_SHARE
    site = int(_REFERRERS * chance.random() ** 3)
    return Click(
        id=new_click_id().bytes,
        at=at,
        account_id=account.id.bytes,
        # As in practice a few of the links have most clicks: the first of 200 has a sixth.
        link_id=account.links[int(len(account.links) * chance.random() ** 3)].bytes,
        domain_name="",
        address=str(IPv4Address(0x08000000 + visitor * 7919)),
        user_agent=AGENTS[visitor // len(COUNTRIES) % len(AGENTS)],
        referrer="" if is_direct else f"https://www.site-{site}.example/a/page",
        purpose="",
        edge_country=COUNTRIES[visitor % len(COUNTRIES)],
        query=query,
    )


def _query(chance: random.Random, number: int, campaign_of: CampaignOf) -> str:
    medium = _MEDIA[chance.randrange(len(_MEDIA))]
    return f"utm_source=bench&utm_medium={medium}&utm_campaign={campaign_of(chance, number)}&n=1"


def _event(account: Account, click: Click, event_id: int) -> Conversion:
    return Conversion(
        id=event_id,
        at=click.at,
        account_id=click.account_id,
        event_config_id=account.config.id.bytes,
        click_id=click.id,
        value="12.50",
        payout="5",
        metadata=None,
        transaction_id=None,
        transaction_scope=None,
    )


async def fill(drain: Drain, account: Account, done: int, size: int) -> float:
    """Store clicks number `done` to `size`; return the clicks a second."""
    began = time.perf_counter()
    with Progress(f"filling to {size:,} clicks", size - done) as progress:
        for first in range(done, size, BATCH_RECORDS):
            numbers = range(first, min(first + BATCH_RECORDS, size))
            await apply(drain, list(traffic(account, numbers, range(done, size))))
            progress.advance(len(numbers))
    return (size - done) / (time.perf_counter() - began)


async def apply(drain: Drain, records: Sequence[Record]) -> None:
    """Store records, again if a store on a busy machine took too long: they count once.

    Raises RedisError or PyMongoError if it still does.
    """
    for left in reversed(range(_ATTEMPTS)):
        try:
            await drain.apply(records)
        except (PyMongoError, RedisError):
            if not left:
                raise
        else:
            return
