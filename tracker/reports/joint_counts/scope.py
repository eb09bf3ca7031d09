"""The scope of a report, an account or a link, and the snapshot it is read in."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple, Protocol
from uuid import UUID

from tracker.accounts.time_zones import calendar_in
from tracker.calendar import Calendar
from tracker.clock import now
from tracker.reports.columns import Columns
from tracker.reports.dimensions import DocumentKind
from tracker.reports.joint_counts.fingerprints import Fingerprints
from tracker.reports.rollups.layout import rollups_of
from tracker.reports.rollups.shared_rollups import SharedRollups
from tracker.stores.mongodb.reads import MongoReads


class Memory(Protocol):
    """The memory budget of a report."""

    bytes: int

    async def take(self, count: int) -> None:
        """Reserve more bytes, before rows need them."""

    async def resize(self, count: int) -> None:
        """Change the reservation to `count` bytes."""


class _Unlimited:
    """The memory of drains, which have no budget."""

    bytes = 0

    async def take(self, count: int) -> None:
        pass

    async def resize(self, count: int) -> None:
        pass


_UNLIMITED: Final = _Unlimited()


def _ignore_progress(fraction: float) -> None:
    pass


class ReportScope(NamedTuple):
    """An account, or one of its links."""

    account_id: UUID
    calendar: Calendar
    link_id: UUID | None = None

    def rollups(self, of: str | None = None) -> dict[str, Any]:
        """Return the filter for its rollups, of the `account` or of each `link`."""
        return rollups_of(self.account_id, self.calendar.zone, of, self.link_id)

    def documents(self) -> dict[str, Any]:
        found: dict[str, Any] = {"account_id": self.account_id}
        return found if self.link_id is None else {**found, "link_id": self.link_id}


class Moment(NamedTuple):
    """A snapshot, the account's calendar in it, and its time."""

    reader: MongoReads
    calendar: Calendar
    at: datetime


async def moment_of(reader: MongoReads, account_id: UUID) -> Moment:
    return Moment(reader, await calendar_in(reader, account_id), now())


class RecentKey(NamedTuple):
    """The documents of an hour from `start` on, of the account or a link, by some dimensions."""

    link_id: UUID | None
    of: DocumentKind
    hour: str
    start: datetime
    by: tuple[str, ...]


class Snapshot(NamedTuple):
    """The snapshot of a report, and its time.

    `before_counting` runs before each read of clicks, of events, or of the rollups of all links. It
    may raise RateLimited or Unavailable. With `is_thorough` documents are counted by all
    dimensions, for the reports that follow. `on_progress` receives the finished fraction of the
    report. `fingerprints` are those that other parts of the request have read, and `rollups` are
    shared by them. Documents are counted once for all `combinations` of dimensions that the parts
    need, and `recent` ones are shared by them: a few thousand at most.
    """

    reader: MongoReads
    now: datetime
    before_counting: Callable[[], Awaitable[None]]
    is_thorough: bool = False
    memory: Memory = _UNLIMITED
    on_progress: Callable[[float], None] = _ignore_progress
    fingerprints: dict[UUID | None, Fingerprints] | None = None
    combinations: Sequence[Sequence[str]] = ()
    rollups: SharedRollups | None = None
    recent: dict[RecentKey, Columns] | None = None

    def fingerprints_of(self, scope: ReportScope) -> Fingerprints:
        known = {} if self.fingerprints is None else self.fingerprints
        shared = None if scope.link_id is None else self.rollups
        return known.setdefault(scope.link_id, Fingerprints(self.reader, scope.rollups(), shared))


class PeriodProgress:
    """The fraction of the periods that are read."""

    def __init__(self, periods: int, on_progress: Callable[[float], None]) -> None:
        self._periods = periods
        self._read = 0
        self._on_progress = on_progress

    def advance(self, periods: int) -> None:
        self._read += periods
        self._on_progress(self._read / self._periods)
