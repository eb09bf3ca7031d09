"""The cost of reports as clicks grow, beside that of aggregating the clicks themselves.

Fills a database of its own through the drain, as the service would, in steps. At each size it times
every kind of report in turn, and in the end the aggregation of the raw clicks.
"""

import argparse
import random
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from decimal import Decimal
from ipaddress import IPv4Address
from typing import Any, Final, NamedTuple
from uuid import UUID

import pymongo

from config.settings import Settings
from lab.harness import on_own_stores, option_parser
from lab.requests import AGENTS
from lab.result import columns
from lab.scene import new_link, open_services
from scripts.progress import Progress
from tracker.clicks.click import Click
from tracker.clock import start_of
from tracker.conversions.event import Event
from tracker.conversions.event_config import EventConfig, PayoutType
from tracker.ids import new_click_id
from tracker.ingest.consumer import BATCH_RECORDS
from tracker.ingest.drain import Drain
from tracker.ingest.record import Record
from tracker.ingest.slot import kept_slot
from tracker.reports.query import GroupBy, Query
from tracker.service.services import Services

FIRST_DAY, DAYS = date(2026, 1, 1), 30
CONVERSION_SHARE: Final = 0.02
VISITORS: Final = 200_000
RAW_SECONDS: Final = 600
COUNTRIES: Final = (
    *("US", "GB", "DE", "FR", "IN", "BR", "CA", "AU", "NL", "ES", "IT", "MX", "PL", "SE", "JP"),
    *("KR", "ID", "TR", "PH", "VN", "TH", "ZA", "NG", "EG", "AR", "CO", "CL", "PE", "PT", "BE"),
    *("AT", "CH", "DK", "NO", "FI", "IE", "CZ", "RO", "GR", "HU"),
)
GROUPS: tuple[GroupBy, ...] = (
    *("device", "country", "browser", "os", "day", "hour", "domain", "event", "link", "tag"),
)
LINK_GROUPS: tuple[GroupBy, ...] = ("device", "country", "browser", "os", "day", "hour")


class Filled(NamedTuple):
    """The account whose reports are timed, with its links and its event configuration."""

    account_id: UUID
    links: Sequence[UUID]
    config: EventConfig


class Kind(NamedTuple):
    """A kind of report, and the field of a click by which the raw aggregation groups."""

    name: str
    query: Query
    raw: str | dict[str, Any] | None


async def _fill_account(services: Services, links: int) -> Filled:
    account = await services.accounts.create("Bench")
    tags = [(await services.tags.create(account.id, f"tag {number}")).id for number in range(10)]
    made = [
        await services.links.create(
            new_link(
                account.id,
                f"bench-{number}",
                "https://example.com/landing",
                tags=[tags[number % len(tags)]],
            )
        )
        for number in range(links)
    ]
    config = await services.event_configs.create(account.id, "Sale", PayoutType.CPA, Decimal(5))
    return Filled(account.id, [link.id for link in made], config)


def _traffic(filled: Filled, first: int, count: int, step: range) -> Iterator[Record]:
    """Yield `count` clicks from number `first` on, and the conversions of some of them.

    The clicks of a `step` are spread over all days, in order.
    """
    chance = random.Random(first)  # noqa: S311  the same for the same clicks
    start = int(start_of(FIRST_DAY.isoformat()).timestamp() * 1000)
    apart = DAYS * 86_400_000 / len(step)
    for number in range(first, first + count):
        visitor = chance.randrange(VISITORS)
        click = Click(
            id=new_click_id().bytes,
            at=start + int((number - step.start) * apart),
            account_id=filled.account_id.bytes,
            # As in practice a few of the links have most clicks: the first of 200 has a sixth.
            link_id=filled.links[int(len(filled.links) * chance.random() ** 3)].bytes,
            domain_name="",
            address=str(IPv4Address(0x08000000 + visitor * 7919)),
            user_agent=AGENTS[visitor % len(AGENTS)],
            referrer="https://www.example.org/",
            purpose="",
            edge_country=COUNTRIES[visitor % len(COUNTRIES)],
            query=f"utm_source=bench&n={number}",
        )
        yield click
        if chance.random() < CONVERSION_SHARE:
            yield _event(filled, click, number)


def _event(filled: Filled, click: Click, number: int) -> Event:
    return Event(
        id=number + 1,
        at=click.at,
        account_id=click.account_id,
        event_config_id=filled.config.id.bytes,
        click_id=click.id,
        value="12.50",
        payout="5",
        metadata=None,
        transaction_id=None,
        transaction_scope=None,
    )


async def _fill(drain: Drain, filled: Filled, done: int, size: int) -> float:
    """Store clicks number `done` to `size`; return the clicks a second."""
    began = time.perf_counter()
    with Progress(f"filling to {size:,} clicks", size - done) as progress:
        for first in range(done, size, BATCH_RECORDS):
            count = min(BATCH_RECORDS, size - first)
            await drain.apply(list(_traffic(filled, first, count, range(done, size))))
            progress.advance(count)
    return (size - done) / (time.perf_counter() - began)


def _kinds(filled: Filled) -> list[Kind]:
    raw: dict[str, Any] = {
        "day": {"$dateTrunc": {"date": "$at", "unit": "day"}},
        "hour": {"$dateTrunc": {"date": "$at", "unit": "hour"}},
        "link": "$link_id",
        "domain": "$domain_name",
    }
    link = {"link": [filled.links[0]]}
    account = [
        Kind(f"account by {one}", _query(filled, one), raw.get(one, f"${one}")) for one in GROUPS
    ]
    of_link = [Kind(f"one link by {one}", _query(filled, one, link), None) for one in LINK_GROUPS]
    crossed = _query(filled, "device", {"country": ["US"]})
    return [*account, *of_link, Kind("crossed: device in US (reads clicks)", crossed, None)]


def _query(filled: Filled, group_by: GroupBy, filters: dict[str, Any] | None = None) -> Query:
    last = FIRST_DAY + timedelta(days=DAYS - 1)
    return Query(
        account_id=filled.account_id,
        first=FIRST_DAY,
        last=last,
        group_by=group_by,
        filters=filters or {},
    )


async def _time(
    services: Services, kinds: Sequence[Kind], rounds: int
) -> defaultdict[str, list[float]]:
    """Return the milliseconds of each kind in every round; kinds that read clicks have one."""
    times: defaultdict[str, list[float]] = defaultdict(list)
    for number in range(rounds + 1):
        for kind in kinds:
            if kind.name.startswith("crossed") and number > 1:
                continue
            began = time.perf_counter()
            await services.reports.run(kind.query)
            if number:  # the first round warms the caches
                times[kind.name].append((time.perf_counter() - began) * 1000)
    return times


async def _time_raw(services: Services, filled: Filled, kinds: Sequence[Kind]) -> dict[str, float]:
    """Return the milliseconds of the same figures aggregated from clicks; medians of three."""
    start = start_of(FIRST_DAY.isoformat())
    matching = {
        "account_id": filled.account_id,
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
    sizes = sorted({max(1000, parsed.clicks // 100), max(1000, parsed.clicks // 10), parsed.clicks})
    async with open_services(settings) as services:
        try:
            filled = await _fill_account(services, parsed.links)
            kinds, done, times = _kinds(filled), 0, []
            async with kept_slot(services.redis, services.mongodb) as slot:
                drain = services.drain(slot)
                for size in sizes:
                    rate = await _fill(drain, filled, done, size)
                    print(f"{size:,} clicks stored and counted, {rate:,.0f} a second", flush=True)
                    times.append(await _time(services, kinds, parsed.rounds))
                    done = size
            raw = await _time_raw(services, filled, kinds)
        finally:
            await services.stop()
    _print(sizes, kinds, times, raw)


def _print(
    sizes: Sequence[int],
    kinds: Sequence[Kind],
    times: Sequence[dict[str, list[float]]],
    raw: dict[str, float],
) -> None:
    heads = [
        "median ms at clicks",
        *(f"{size:,}" for size in sizes),
        *("growth", "raw ms", "raw / report"),
    ]
    rows = [_row(kind.name, times, raw.get(kind.name)) for kind in kinds]
    print("", *columns([heads, *rows], (0,)), sep="\n")


def _row(name: str, times: Sequence[dict[str, list[float]]], raw: float | None) -> list[str]:
    medians = [statistics.median(one[name]) for one in times]
    return [
        name,
        *(f"{median:.2f}" for median in medians),
        f"{medians[-1] / medians[0]:.2f}",
        "" if raw is None else f"{raw:,.0f}",
        "" if raw is None else f"{raw / medians[-1]:,.0f}x",
    ]


def main() -> None:
    """Run and print the table. Raises SystemExit if nothing can be measured."""
    parser = option_parser(
        "bench_reports",
        "Time every kind of report at 1 %, 10 % and 100 % of the clicks, "
        "over 30 days, and the same figures aggregated from the clicks themselves.",
        "example:\n  make bench-reports ARGS='--clicks 10000000'",
    )
    parser.add_argument("--clicks", type=int, default=1_000_000, help="the largest size [1000000]")
    parser.add_argument("--links", type=int, default=200, help="links of the account [200]")
    parser.add_argument("--rounds", type=int, default=15, help="runs of each report [15]")
    parsed = parser.parse_args()
    on_own_stores("bench-reports", lambda folder, stores: _measure(stores, parsed))


if __name__ == "__main__":
    main()
