"""What a report costs as clicks grow, beside the same question put to the clicks themselves.

Fills a database of its own through the drain, as the service would, in steps; at each size it times
every kind of report, alternating, and in the end the aggregation of raw clicks.
"""

import argparse
import random
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from decimal import Decimal
from ipaddress import IPv4Address
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
import pymongo
import uvloop

from config.settings import Settings
from lab.traffic import AGENTS, COUNTRIES
from scripts.progress import Progress
from tracker.builtin.stores import run_stores
from tracker.clicks.click import Click
from tracker.clock import start_of
from tracker.conversions.event import Event
from tracker.conversions.event_config import EventConfig, PayoutType
from tracker.db import indexes
from tracker.ids import new_click_id
from tracker.ingest.consumer import BATCH_RECORDS
from tracker.ingest.drain import Drain
from tracker.ingest.record import Record
from tracker.ingest.slot import kept_slot
from tracker.links.store import NewLink
from tracker.reports.query import GroupBy, Query
from tracker.service.services import Services

FIRST, DAYS = date(2026, 1, 1), 30
CONVERTED = 0.02
VISITORS = 200_000
RAW_SECONDS = 600
GROUPS: tuple[GroupBy, ...] = (
    *("device", "country", "browser", "os", "day", "hour", "domain", "event", "link", "tag"),
)
OF_A_LINK: tuple[GroupBy, ...] = ("device", "country", "browser", "os", "day", "hour")


class Scene(NamedTuple):
    account_id: UUID
    links: Sequence[UUID]
    config: EventConfig


class Kind(NamedTuple):
    """A report, and the field of a click by which the raw aggregation groups."""

    name: str
    query: Query
    raw: str | dict[str, Any] | None


async def _scene(services: Services, links: int) -> Scene:
    await indexes.ensure(services.database)
    account = await services.accounts.create("Bench")
    tags = [(await services.tags.create(account.id, f"tag {number}")).id for number in range(10)]
    made = [
        await services.links.create(
            NewLink(
                account_id=account.id,
                destination_url="https://example.com/landing",
                internal_name=f"Link {number}",
                slug=f"bench-{number}",
                domain_id=None,
                domain_name="",
                tags=[tags[number % len(tags)]],
            )
        )
        for number in range(links)
    ]
    config = await services.event_configs.create(account.id, "Sale", PayoutType.CPA, Decimal(5))
    return Scene(account.id, [link.id for link in made], config)


def _traffic(scene: Scene, first: int, count: int, step: range) -> Iterator[Record]:
    """The clicks number `first` and on, and the conversions of some of them.

    Those of a `step` are spread over all days, in the order in which they were made.
    """
    chance = random.Random(first)  # noqa: S311  the same for the same clicks
    start = int(start_of(FIRST.isoformat()).timestamp() * 1000)
    apart = DAYS * 86_400_000 / len(step)
    for number in range(first, first + count):
        visitor = chance.randrange(VISITORS)
        click = Click(
            id=new_click_id().bytes,
            at=start + int((number - step.start) * apart),
            account_id=scene.account_id.bytes,
            # A few links have most of the clicks, as it is; the first has a sixth of 200 links'.
            link_id=scene.links[int(len(scene.links) * chance.random() ** 3)].bytes,
            domain_name="",
            address=str(IPv4Address(0x08000000 + visitor * 7919)),
            user_agent=AGENTS[visitor % len(AGENTS)],
            referrer="https://www.example.org/",
            purpose="",
            edge_country=COUNTRIES[visitor % len(COUNTRIES)],
            query=f"utm_source=bench&n={number}",
        )
        yield click
        if chance.random() < CONVERTED:
            yield _event(scene, click, number)


def _event(scene: Scene, click: Click, number: int) -> Event:
    return Event(
        id=number + 1,
        at=click.at,
        account_id=click.account_id,
        event_config_id=scene.config.id.bytes,
        click_id=click.id,
        value="12.50",
        payout="5",
        metadata=None,
        transaction_id=None,
        transaction_scope=None,
    )


async def _fill(drain: Drain, scene: Scene, done: int, size: int) -> float:
    """Clicks a second."""
    began = time.perf_counter()
    with Progress(f"filling to {size:,} clicks", size - done) as progress:
        for first in range(done, size, BATCH_RECORDS):
            count = min(BATCH_RECORDS, size - first)
            await drain.apply(list(_traffic(scene, first, count, range(done, size))))
            progress.advance(count)
    return (size - done) / (time.perf_counter() - began)


def _kinds(scene: Scene) -> list[Kind]:
    raw: dict[str, Any] = {
        "day": {"$dateTrunc": {"date": "$at", "unit": "day"}},
        "hour": {"$dateTrunc": {"date": "$at", "unit": "hour"}},
        "link": "$link_id",
        "domain": "$domain_name",
    }
    link = {"link": [scene.links[0]]}
    account = [
        Kind(f"account by {one}", _query(scene, one), raw.get(one, f"${one}")) for one in GROUPS
    ]
    of_link = [Kind(f"one link by {one}", _query(scene, one, link), None) for one in OF_A_LINK]
    crossed = _query(scene, "device", {"country": ["US"]})
    return [*account, *of_link, Kind("crossed: device in US (reads clicks)", crossed, None)]


def _query(scene: Scene, group_by: GroupBy, filters: dict[str, Any] | None = None) -> Query:
    last = FIRST + timedelta(days=DAYS - 1)
    return Query(
        account_id=scene.account_id,
        first=FIRST,
        last=last,
        group_by=group_by,
        filters=filters or {},
    )


async def _time(
    services: Services, kinds: Sequence[Kind], rounds: int
) -> defaultdict[str, list[float]]:
    """Milliseconds of each kind; those that read clicks once."""
    times: defaultdict[str, list[float]] = defaultdict(list)
    for number in range(rounds + 1):
        for kind in kinds:
            if kind.name.startswith("crossed") and number > 1:
                continue
            began = time.perf_counter()
            await services.reports.run(kind.query)
            if number:  # the first warms the caches
                times[kind.name].append((time.perf_counter() - began) * 1000)
    return times


async def _time_raw(services: Services, scene: Scene, kinds: Sequence[Kind]) -> dict[str, float]:
    """Milliseconds of the same figures from the clicks alone, by index; median of three."""
    start = start_of(FIRST.isoformat())
    matching = {
        "account_id": scene.account_id,
        "at": {"$gte": start, "$lt": start + timedelta(days=DAYS)},
    }
    times = {}
    with Progress("raw aggregations", len(kinds)) as progress:
        for kind in kinds:
            if kind.raw is not None and not kind.name.endswith(("tag", "event")):
                group = {
                    "_id": kind.raw,
                    "clicks": {"$sum": {"$cond": [{"$eq": ["$bot", None]}, 1, 0]}},
                    "unique": {"$sum": {"$cond": ["$unique", 1, 0]}},
                }
                stages: list[dict[str, Any]] = [{"$match": matching}, {"$group": group}]
                times[kind.name] = statistics.median(
                    [await _time_stages(services, stages) for _ in range(3)]
                )
            progress.advance()
    return times


async def _time_stages(services: Services, stages: Sequence[dict[str, Any]]) -> float:
    began = time.perf_counter()
    with pymongo.timeout(RAW_SECONDS):
        await services.database["clicks"].aggregate(stages, allowDiskUse=True).to_list(None)
    return (time.perf_counter() - began) * 1000


async def _measure(settings: Settings, parsed: argparse.Namespace) -> None:
    services = Services(msgspec.structs.replace(settings, base_url="http://localhost"))
    sizes = sorted({max(1000, parsed.clicks // 100), max(1000, parsed.clicks // 10), parsed.clicks})
    try:
        scene = await _scene(services, parsed.links)
        kinds, done, times = _kinds(scene), 0, []
        async with kept_slot(services.redis, services.mongodb) as slot:
            drain = services.drain(slot)
            for size in sizes:
                rate = await _fill(drain, scene, done, size)
                print(f"{size:,} clicks stored and counted, {rate:,.0f} a second", flush=True)
                times.append(await _time(services, kinds, parsed.rounds))
                done = size
        raw = await _time_raw(services, scene, kinds)
    finally:
        await services.stop()
        await services.close()
    _print(sizes, kinds, times, raw)


def _print(
    sizes: Sequence[int],
    kinds: Sequence[Kind],
    times: Sequence[dict[str, list[float]]],
    raw: dict[str, float],
) -> None:
    heads = "".join(f"{size:>12,}" for size in sizes)
    print(f"\nmedian ms at clicks{'':19}{heads}{'growth':>9}{'raw ms':>10}{'raw / report':>14}")
    for kind in kinds:
        medians = [statistics.median(one[kind.name]) for one in times]
        cells = "".join(f"{median:12.2f}" for median in medians)
        line = f"{kind.name:38}{cells}{medians[-1] / medians[0]:9.2f}"
        if kind.name in raw:
            line += f"{raw[kind.name]:10,.0f}{raw[kind.name] / medians[-1]:13,.0f}x"
        print(line)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m lab.bench_reports",
        description="What a report costs at a hundredth, a tenth and all of so many clicks, over "
        "30 days; and what the same figures cost if they are aggregated from the clicks.",
        epilog="example:\n  make bench-reports ARGS='--clicks 10000000'",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--clicks", type=int, default=1_000_000, help="the largest size [1000000]")
    parser.add_argument("--links", type=int, default=200, help="links of the account [200]")
    parser.add_argument("--rounds", type=int, default=15, help="runs of each report [15]")
    parsed = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
        run_stores(Settings(data_dir=folder)) as stores,
    ):
        uvloop.run(_measure(stores, parsed))


if __name__ == "__main__":
    main()
