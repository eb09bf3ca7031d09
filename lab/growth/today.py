"""Clicks of today or of earlier days, stored and counted by a drain in this process."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime, time, timedelta
from ipaddress import IPv4Address
from random import Random
from typing import Final
from uuid import UUID

from pymongo.errors import PyMongoError
from redis.exceptions import RedisError

from config.settings import Settings
from lab.harness import CannotMeasure
from lab.requests import AGENTS
from lab.scene import open_services
from scripts.progress import Progress
from tracker.clicks.click import Click
from tracker.clock import now_ms
from tracker.ids import new_click_id
from tracker.ingest.drain import Drain
from tracker.ingest.drain_number import DrainNumber
from tracker.ingest.joint_counting import MANY_STORED
from tracker.ingest.record import Record
from tracker.ingest.services import DrainParts
from tracker.service.background import leased
from tracker.service.services import Services

_COUNTRIES: Final = (
    *("US", "GB", "DE", "FR", "IN", "BR", "CA", "AU", "NL", "ES", "IT", "MX", "PL", "SE", "JP"),
    *("KR", "ID", "TR", "PH", "VN", "TH", "ZA", "NG", "EG", "AR", "CO", "CL", "PE", "PT", "BE"),
    *("AT", "CH", "DK", "NO", "FI", "IE", "CZ", "RO", "GR", "HU"),
)
_BATCH_RECORDS: Final = 2_000
_VISITORS: Final = 200_000
_REFERRERS: Final = 300
_CAMPAIGNS: Final = 40
_COUNTING_SECONDS: Final = 120
_ATTEMPTS: Final = 5


Span = tuple[int, int]
"""The time over which clicks are spread evenly, in Unix milliseconds."""


def today_so_far() -> Span:
    return _midnight(datetime.now(UTC).date()), now_ms()


def span_of(first: date, last: date) -> Span:
    return _midnight(first), _midnight(last + timedelta(days=1))


def _midnight(day: date) -> int:
    return int(datetime.combine(day, time(), UTC).timestamp() * 1000)


@asynccontextmanager
async def draining(settings: Settings) -> AsyncIterator[tuple[Services, DrainParts]]:
    async with open_services(settings) as services:
        stores = services.stores
        async with leased(DrainNumber(stores.redis, stores.mongodb), services.loops) as number:
            yield services, services.ingest.parts(number, serves=False)


async def store_clicks(
    drain: Drain,
    account_id: UUID,
    link_ids: Sequence[UUID],
    count: int,
    span: Span,
    campaigns: int = _CAMPAIGNS,
) -> None:
    began, ended = span
    apart = (ended - began) / count
    draw = Random(count)  # noqa: S311
    with Progress("storing clicks", count) as progress:
        for first in range(0, count, _BATCH_RECORDS):
            numbers = range(first, min(first + _BATCH_RECORDS, count))
            clicks = [
                _click(
                    draw,
                    (account_id, link_ids[one % len(link_ids)]),
                    began + int(one * apart),
                    f"campaign-{one % campaigns}",
                )
                for one in numbers
            ]
            await apply(drain, clicks)
            progress.advance(len(clicks))


async def count_ahead(parts: DrainParts, stored: int) -> None:
    """Wait until the drain counts the clicks stored, as it does by itself within a minute."""
    if stored < MANY_STORED:
        return
    for _ in range(_COUNTING_SECONDS):
        await parts.joint_counts.add_stored()
        if await parts.joint_counts.count_due():
            return
        await asyncio.sleep(1)
    raise CannotMeasure("the stored clicks are not counted ahead")


async def apply(drain: Drain, records: Sequence[Record]) -> None:
    """Store records, again if a store on a busy machine took too long: they count once."""
    for left in reversed(range(_ATTEMPTS)):
        try:
            await drain.apply(records)
        except (PyMongoError, RedisError):
            if not left:
                raise
        else:
            return


def _click(draw: Random, of: tuple[UUID, UUID], at: int, campaign: str) -> Click:
    account_id, link_id = of
    visitor = draw.randrange(_VISITORS)
    return Click(
        id=new_click_id().bytes,
        at=at,
        account_id=account_id.bytes,
        link_id=link_id.bytes,
        domain_name="",
        address=str(IPv4Address(0x08000000 + visitor * 7919)),
        user_agent=AGENTS[visitor // len(_COUNTRIES) % len(AGENTS)],
        referrer=f"https://www.site-{draw.randrange(_REFERRERS)}.example/",
        purpose="",
        edge_country=_COUNTRIES[visitor % len(_COUNTRIES)],
        query=f"utm_source=growth&utm_campaign={campaign}",
    )
