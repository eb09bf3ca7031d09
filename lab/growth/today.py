"""Clicks of today, stored and counted by a drain in this process."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from ipaddress import IPv4Address
from random import Random
from typing import Final
from uuid import UUID

from config.settings import Settings
from lab.bench_reports.traffic import COUNTRIES, apply
from lab.harness import CannotMeasure
from lab.requests import AGENTS
from lab.scene import open_services
from scripts.progress import Progress
from tracker.clicks.click import Click
from tracker.clock import now_ms
from tracker.ids import new_click_id
from tracker.ingest.drain import Drain
from tracker.ingest.drain_number import DrainNumber
from tracker.ingest.services import DrainParts
from tracker.service.background import leased
from tracker.service.services import Services

_BATCH_RECORDS: Final = 2_000
_VISITORS: Final = 200_000
_REFERRERS: Final = 300
_COUNTING_SECONDS: Final = 120


@asynccontextmanager
async def draining(settings: Settings) -> AsyncIterator[tuple[Services, DrainParts]]:
    """Yield the services and the parts of a drain of this process, without running loops."""
    async with open_services(settings) as services:
        stores = services.stores
        async with leased(DrainNumber(stores.redis, stores.mongodb), services.loops) as number:
            yield services, services.ingest.parts(number, serves=False)


async def store_clicks(
    drain: Drain, account_id: UUID, link_ids: Sequence[UUID], count: int
) -> None:
    """Store `count` clicks on the links in turn, spread over the part of today that is over."""
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    began = int(midnight.timestamp() * 1000)
    apart = (now_ms() - began) / count
    draw = Random(count)  # noqa: S311
    with Progress("storing clicks of today", count) as progress:
        for first in range(0, count, _BATCH_RECORDS):
            numbers = range(first, min(first + _BATCH_RECORDS, count))
            clicks = [
                _click(draw, account_id, link_ids[one % len(link_ids)], began + int(one * apart))
                for one in numbers
            ]
            await apply(drain, clicks)
            progress.advance(len(clicks))


async def count_ahead(parts: DrainParts) -> None:
    """Wait until the drain counts the stored clicks, as it does by itself within a minute.

    Raises CannotMeasure if it does not.
    """
    for _ in range(_COUNTING_SECONDS):
        await parts.joint_counts.add_stored()
        if await parts.joint_counts.count_due():
            return
        await asyncio.sleep(1)
    raise CannotMeasure("the clicks of today are not counted ahead")


def _click(draw: Random, account_id: UUID, link_id: UUID, at: int) -> Click:
    visitor = draw.randrange(_VISITORS)
    return Click(
        id=new_click_id().bytes,
        at=at,
        account_id=account_id.bytes,
        link_id=link_id.bytes,
        domain_name="",
        address=str(IPv4Address(0x08000000 + visitor * 7919)),
        user_agent=AGENTS[visitor // len(COUNTRIES) % len(AGENTS)],
        referrer=f"https://www.site-{draw.randrange(_REFERRERS)}.example/",
        purpose="",
        edge_country=COUNTRIES[visitor % len(COUNTRIES)],
        query=f"utm_source=growth&utm_campaign=campaign-{visitor % 40}",
    )
