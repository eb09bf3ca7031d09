"""The scope and the snapshot of reports: whose clicks and events they count, and of when."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, Final, NamedTuple, Protocol
from uuid import UUID

from tracker.accounts.time_zones import zone_of
from tracker.calendar import Calendar
from tracker.clock import now
from tracker.reports.joint_counts.fingerprints import Fingerprints
from tracker.reports.rollups.layout import rollups_of
from tracker.stores.mongodb.reader import Reader


class Memory(Protocol):
    """The memory that a report has."""

    bytes: int

    async def take(self, count: int) -> None:
        """Take so many more bytes, before rows need them."""

    async def settle(self, count: int) -> None:
        """Have so many bytes from now on."""


class _Unlimited:
    """The memory of reports that have no budget: in drains."""

    bytes = 0

    async def take(self, count: int) -> None:
        pass

    async def settle(self, count: int) -> None:
        pass


_UNLIMITED: Final = _Unlimited()


def _unnoted(share: float) -> None:
    pass


class Scope(NamedTuple):
    """Whose clicks and events are counted: an account's, or those of one of its links."""

    account_id: UUID
    calendar: Calendar
    link_id: UUID | None = None

    def rollups(self, of: str | None = None) -> dict[str, Any]:
        """Return what selects its rollups: of the `account`, of each `link`, or of its link."""
        return rollups_of(self.account_id, self.calendar.zone, of, self.link_id)

    def documents(self) -> dict[str, Any]:
        found: dict[str, Any] = {"account_id": self.account_id}
        return found if self.link_id is None else {**found, "link_id": self.link_id}


class Moment(NamedTuple):
    """The snapshot that the reports of an account are read at, its calendar in there, and when."""

    reader: Reader
    calendar: Calendar
    at: datetime


async def moment_of(reader: Reader, account_id: UUID) -> Moment:
    zone = await zone_of(reader, account_id)
    return Moment(reader, zone.calendar, now())


class Snapshot(NamedTuple):
    """The snapshot that a report is read in: its reader, and when it began.

    `before_counting` is called each time before clicks and events themselves are read, or the
    rollups of all links. With `is_thorough` these are counted by all dimensions at once, because
    others of them are asked for next. `note_share` is called with the share of the report that is
    read.
    `marks` has those of the account and of its links that were read already.
    """

    reader: Reader
    now: datetime
    before_counting: Callable[[], Awaitable[None]]
    is_thorough: bool = False
    memory: Memory = _UNLIMITED
    note_share: Callable[[float], None] = _unnoted
    marks: dict[UUID | None, Fingerprints] | None = None

    def marks_of(self, scope: Scope) -> Fingerprints:
        """Return the marks of a scope, those that another part of the request has read."""
        known = {} if self.marks is None else self.marks
        return known.setdefault(scope.link_id, Fingerprints(self.reader, scope.rollups()))
