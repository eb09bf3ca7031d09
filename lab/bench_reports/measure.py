"""The times of reports: of their first looks, of later ones, and of aggregating the clicks."""

import time
from collections import defaultdict
from collections.abc import Sequence
from statistics import median
from typing import Any, Final, NamedTuple

import pymongo
from msgspec.structs import replace
from pymongo.errors import PyMongoError

from lab.bench_reports.kinds import PANELS, Kind
from scripts.progress import Progress
from tracker.clock import now
from tracker.errors import Unavailable
from tracker.ingest.joint_counting import DAYS
from tracker.reports.answers.overview import read_overview
from tracker.reports.answers.request_parts import parts_at_one_snapshot
from tracker.reports.comparison import Comparison, other_range
from tracker.reports.counted import COUNTED_DIMENSIONS
from tracker.reports.joint_counts.counts import Counts
from tracker.reports.joint_counts.scope import ReportScope, Snapshot, moment_of
from tracker.reports.joint_counts.store import ALL
from tracker.reports.periods import DayRange, day_period
from tracker.reports.query import ReportQuery
from tracker.service.services import Services

_RAW_SECONDS: Final = 600
_RAW_ROUNDS: Final = 3
_MAX_REQUESTS: Final = 20
_PANEL_ROWS: Final = 10


class Looks(NamedTuple):
    """The milliseconds of a kind of report.

    - `first`: with nothing prepared, None if that was not timed. `requests` were necessary: a
      request ends after 30 seconds, and what it has counted is kept.
    - `prepared`: the first look after drains have counted finished days; None if the kind keeps
      nothing.
    - `later`: the median of the following ones.
    """

    first: float | None
    requests: int
    prepared: float | None
    later: float


async def looks(
    services: Services, kinds: Sequence[Kind], unprepared: Sequence[Kind], rounds: int, what: str
) -> dict[str, Looks]:
    """Return the times of each kind by its name.

    Only the kinds of `unprepared` are timed with nothing prepared.
    """
    kept = [kind for kind in kinds if kind.kept]
    first: dict[str, tuple[float, int]] = {}
    prepared: dict[str, float] = {}
    with Progress(what, len(unprepared) + len(kept) + len(kinds) * (rounds + 1)) as progress:
        for kind in unprepared:
            await services.stores.mongodb["joint_counts"].delete_many({})
            first[kind.name] = await _first(services, kind)
            progress.advance()
        await _count_days(services, kinds[0].query)
        for kind in kept:
            await services.stores.mongodb["joint_counts"].delete_many({"_id.by": {"$ne": ALL}})
            prepared[kind.name], _ = await _first(services, kind)
            progress.advance()
        later = await _later(services, kinds, rounds, progress)
    found = {}
    for name, times in later.items():
        unprepared_time, requests = first.get(name, (None, 1))
        found[name] = Looks(unprepared_time, requests, prepared.get(name), median(times))
    return found


async def _count_days(services: Services, query: ReportQuery) -> None:
    """Count the days of a query by all dimensions, as idle drains do, without their rests."""
    days = DayRange(query.first, query.last).dates()
    for day in list(days)[-DAYS:]:
        async with services.stores.mongodb.reads.at_one_snapshot() as snapshot:
            calendar = (await moment_of(snapshot, query.account_id)).calendar
            counts = Counts(
                services.stores.mongodb.database,
                ReportScope(query.account_id, calendar),
                Snapshot(snapshot, now(), _no_wait),
            )
            await counts.tables(COUNTED_DIMENSIONS, [day_period(calendar, day)])


async def _no_wait() -> None:
    pass


async def _first(services: Services, kind: Kind) -> tuple[float, int]:
    """Return the milliseconds of a first look, and its requests.

    Raises Unavailable or PyMongoError if it never ends.
    """
    began = time.perf_counter()
    for requests in range(1, _MAX_REQUESTS + 1):
        try:
            await _read(services, kind)
        except (Unavailable, PyMongoError):
            if requests == _MAX_REQUESTS:
                raise
        else:
            break
    return _milliseconds(began), requests


async def _later(
    services: Services, kinds: Sequence[Kind], rounds: int, progress: Progress
) -> defaultdict[str, list[float]]:
    """Return the milliseconds of each kind in every round; the round before warms the caches."""
    times: defaultdict[str, list[float]] = defaultdict(list)
    for number in range(rounds + 1):
        for kind in kinds:
            began = time.perf_counter()
            await _read(services, kind)
            if number:
                times[kind.name].append(_milliseconds(began))
            progress.advance()
    return times


async def _read(services: Services, kind: Kind) -> None:
    if not kind.is_overview:
        await services.reports.reports.run(kind.query)
        return
    query = kind.query
    days = DayRange(query.first, query.last)
    compared = Comparison(days, other_range(days, "previous_period"), "previous_period")
    panels = [replace(query, group_by=one, page_size=_PANEL_ROWS) for one in PANELS]
    snapshot = parts_at_one_snapshot(
        services.stores.mongodb.reads, services.reports.reports, query.account_id
    )
    async with snapshot as parts:
        await read_overview(parts, query, "day", compared, panels)


async def raw(services: Services, kinds: Sequence[Kind]) -> dict[str, float]:
    """Return the milliseconds of the same figures aggregated from clicks; medians of three."""
    timed = [kind for kind in kinds if kind.raw is not None]
    times = {}
    with Progress("aggregating clicks", len(timed)) as progress:
        for kind in timed:
            found = [await _aggregate(services, kind) for _ in range(_RAW_ROUNDS)]
            times[kind.name] = median(found)
            progress.advance()
    return times


async def _aggregate(services: Services, kind: Kind) -> float:
    group = {
        "_id": kind.raw,
        "clicks": {"$sum": {"$cond": [{"$eq": ["$bot", None]}, 1, 0]}},
        "unique": {"$sum": {"$cond": ["$unique", 1, 0]}},
    }
    # All clicks of the account are in the range.
    stages: list[dict[str, Any]] = [
        {"$match": {"account_id": kind.query.account_id}},
        {"$group": group},
    ]
    began = time.perf_counter()
    with pymongo.timeout(_RAW_SECONDS):
        await services.stores.mongodb["clicks"].aggregate(stages, allowDiskUse=True).to_list(None)
    return _milliseconds(began)


def _milliseconds(began: float) -> float:
    return (time.perf_counter() - began) * 1000
