"""The run of a request's reports: one snapshot and one time limit, one report after another.

A snapshot takes one query at a time. So a request needs one permit, however many reports it has. A
drain that counts ahead has a run for each period.
"""

import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import date, datetime
from typing import Final, NamedTuple
from uuid import UUID

import pymongo
from pymongo.errors import PyMongoError

from tracker.errors import BadRequest, TooSlow, Unavailable
from tracker.reports import limits
from tracker.reports.columns import Columns
from tracker.reports.costs.entries import PeriodCost
from tracker.reports.costs.spreading import CostKind, CostShares
from tracker.reports.dimensions import DocumentKind
from tracker.reports.joint_counts.fingerprints import Fingerprints
from tracker.reports.joint_counts.scope import ReportScope
from tracker.reports.joint_counts.unattributed import Unattributed
from tracker.reports.memory import Reservation, UnlimitedMemory
from tracker.reports.rollups.shared_rollups import SharedRollups
from tracker.stores.mongodb.drivers import Database
from tracker.stores.mongodb.reads import MongoReads
from tracker.stores.mongodb.time_limit import TimeLimits, is_time_limit

PROGRESS_HEADER: Final = "X-Report-Progress"
"""The header with the fraction of a report that is counted and cached, from 0 to 1."""

_RETRY_SECONDS: Final = 1

_MOST: Final = 0.9999
"""The fraction of a request that is almost done."""

_ALWAYS: Final = ("report", "series", "dimension")
"""The parts that every request has."""


class ReportProgress:
    """The progress of a request: its finished parts, and a fraction of the current one."""

    def __init__(self) -> None:
        self._parts, self._done, self._within = 1, 0, 0.0

    def expect(self, parts: int) -> None:
        """Plan at most so many parts."""
        self._parts = max(parts, 1)

    def set_fraction(self, fraction: float) -> None:
        """Set the finished fraction of the current part."""
        self._within = fraction

    def finish_part(self) -> None:
        self._done += 1
        self._within = 0.0

    @property
    def fraction(self) -> float:
        """Return the finished fraction of the request, always below 1."""
        return min((self._done + self._within) / self._parts, _MOST)

    @property
    def text(self) -> str:
        """Return the fraction for its header. Even one day of two years changes it."""
        return f"{self.fraction:.4f}"


CostsOfDays = tuple[list[PeriodCost], dict[CostKind, CostShares]]


class RecentKey(NamedTuple):
    """The documents of an hour from `start` on, of the account or a link, by some dimensions."""

    link_id: UUID | None
    of: DocumentKind
    hour: str
    start: datetime
    by: tuple[str, ...]


class ReportRun:
    """The run: its account's `scope`, its snapshot's `reader`, its time `at`, and its `memory`.

    - `before_counting` runs before each read of clicks, of events, or of the rollups of all links.
      It may raise RateLimited or Unavailable.
    - `until`, by the monotonic clock, is the time limit of `part`.
    - `host` is the name of the default domain.

    Reports share `fingerprints_of`, `unattributed` conversions, the counts of `recent` documents,
    and `rollups` if there are many reports. Documents are counted once for all `combinations` of
    dimensions that the reports need; with `is_thorough`, by all dimensions. `has_further`: rollups
    that were read have FURTHER_MEASURES. `costs` of periods are by the days that were asked for,
    `links` of filters by the filter of MongoDB that found them.
    """

    def __init__(
        self,
        database: Database,
        reader: MongoReads,
        scope: ReportScope,
        at: datetime,
        before_counting: Callable[[], Awaitable[None]],
        *,
        until: float = math.inf,
        memory: Reservation | None = None,
        host: str = "",
    ) -> None:
        self.database = database
        self.reader = reader
        # Counts that another report has cached since the snapshot began are valid too.
        self.latest = reader.latest()
        self.scope = scope
        self.at = at
        self.before_counting = before_counting
        self.memory = memory or UnlimitedMemory()
        self.host = host
        self.progress = ReportProgress()
        self.is_thorough = False
        self.has_further = False
        self.combinations: Sequence[Sequence[str]] = ()
        self.rollups: SharedRollups | None = None
        self.recent: dict[RecentKey, Columns] = {}
        self.unattributed = Unattributed()
        self.costs: dict[tuple[date, date], CostsOfDays] = {}
        self.links: dict[str, Sequence[UUID]] = {}
        self._fingerprints: dict[UUID | None, Fingerprints] = {}
        self._until = until

    def fingerprints_of(self, scope: ReportScope) -> Fingerprints:
        shared = None if scope.link_id is None else self.rollups
        made = Fingerprints(self.reader, scope.rollups(), shared)
        return self._fingerprints.setdefault(scope.link_id, made)

    @asynccontextmanager
    async def part(self, name: str, keeps_memory: bool = False) -> AsyncIterator[None]:
        """Read a part of the request within the remaining time. Its tables are freed at its end.

        `name` is the field that asks for it, which BadRequest and Unavailable name. Raises TooSlow
        with the progress, AutoReconnect if MongoDB does not answer at all, and BadRequest if the
        calendar lacks the days.
        """
        before = self.memory.bytes
        try:
            async with self._limited():
                yield
        except (BadRequest, Unavailable) as error:
            rule = error.message.removeprefix("report: ")
            hint = "" if name in _ALWAYS or not isinstance(error, TooSlow) else ", or leave it out"
            raise error.with_message(f"{name}: {rule}{hint}") from None
        except OverflowError:
            raise self.no_days(name) from None
        finally:
            if not keeps_memory:
                self.memory.shrink_to(before)
        self.progress.finish_part()

    def no_days(self, name: str) -> BadRequest:
        zone = self.scope.calendar.zone_at(self.at)
        return BadRequest(f"{name}: the calendar of {zone} does not have all days")

    @asynccontextmanager
    async def _limited(self) -> AsyncIterator[None]:
        left = self._until - time.monotonic()
        if left <= 0:
            raise self._too_slow()
        try:
            async with TimeLimits(self.database):
                with pymongo.timeout(left):
                    yield
        except PyMongoError as error:
            if is_time_limit(error):
                raise self._too_slow() from None
            raise

    def _too_slow(self) -> TooSlow:
        percent = int(self.progress.fraction * 100)
        return TooSlow(
            f"report: not done after {limits.REPORT_SECONDS:.0f} seconds; {percent}% is counted "
            "and cached: try again, or ask for fewer days",
            _RETRY_SECONDS,
            {PROGRESS_HEADER: self.progress.text},
        )
