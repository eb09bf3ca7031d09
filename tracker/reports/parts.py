"""The reports that one request is made of: one snapshot, one after another, one time limit.

They run one after another because a snapshot takes one question at a time. So a request
never occupies more than one place, however many parts it has.
"""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final, NamedTuple, TypeVar
from uuid import UUID

import pymongo
from msgspec.structs import replace
from pymongo.errors import PyMongoError

from tracker.db.reader import Reader
from tracker.errors import BadRequest, Unavailable
from tracker.reports.day_range import DayRange
from tracker.reports.dimensions import needed_for, rollups_for
from tracker.reports.limits import REPORT_SECONDS
from tracker.reports.query import Measures, Query, Report
from tracker.reports.run import Reports
from tracker.reports.scope import Moment, moment_of
from tracker.reports.series import Interval, Step, rows_of, series_of, step_keys
from tracker.reports.whole_report import WholeReport

Found = TypeVar("Found")


class Series(NamedTuple):
    """The steps of a range, and its totals."""

    steps: Sequence[Step]
    totals: Measures


_ALWAYS: Final = ("report", "series", "dimension")
"""The parts that no request can leave out."""

_MANY: Final = 3
"""Combinations of dimensions from which on it takes less time to count by all of them at once."""


class Parts:
    """The parts of one request. The name of a part is the field that asks for it."""

    def __init__(self, reports: Reports, moment: Moment) -> None:
        self.calendar = moment.calendar
        self._reports = reports
        self._moment = moment
        self._is_thorough = False
        self._until = time.monotonic() + REPORT_SECONDS

    def expect(self, queries: Sequence[Query]) -> None:
        """Count days for all of these queries at once, if several of them would have to."""
        crossed = [one for one in queries if not is_of_rollups(one)]
        needed = {needed_for(one.group_by, one.filters) for one in crossed}
        self._is_thorough = len(needed) >= _MANY

    async def run(self, name: str, query: Query) -> Report:
        """Return the report of a part.

        - Raises BadRequest, which names the part, if the calendar does not have the days, where
          dates begin, or if they have too many values.
        - Raises RateLimited if too many reports of the account wait.
        - Raises Unavailable, which names the part, if the request takes too long or too many
          reports wait.
        - Raises PyMongoError if MongoDB does not answer.
        """
        read = self._reports.run
        return await self._limited(
            name, lambda left: read(query, self._moment, self._is_thorough, left)
        )

    async def whole(self, name: str, query: Query) -> WholeReport:
        """Return all rows of a part. Raises as `run`."""
        read = self._reports.whole
        return await self._limited(
            name, lambda left: read(query, self._moment, self._is_thorough, left)
        )

    async def _limited(self, name: str, read: Callable[[float], Awaitable[Found]]) -> Found:
        """Return what a part reads in the seconds that are left. Raises as `run`."""
        left = self._until - time.monotonic()
        if left <= 0:
            raise _too_long(name)
        try:
            with pymongo.timeout(left):
                return await read(left)
        except (BadRequest, Unavailable) as error:
            rule = error.message.removeprefix("report: ")
            raise type(error)(f"{name}: {rule}", error.headers) from None
        except OverflowError:
            zone = self.calendar.zone
            raise BadRequest(f"{name}: the calendar of {zone} does not have all days") from None
        except PyMongoError as error:
            if error.timeout and time.monotonic() >= self._until:
                raise _too_long(name) from None
            raise

    async def totals(self, name: str, query: Query) -> Measures:
        """Return the totals of a query, which are those of every dimension. Raises as `run`."""
        return (await self.run(name, _whole(query, "day", 1))).totals

    async def series(self, name: str, query: Query, interval: Interval) -> Series:
        """Return the series of a query's days.

        Raises BadRequest if hours are asked of the first day that dates have; and as `run`.
        """
        days = DayRange(query.first, query.last)
        dimension = rows_of(interval)
        count = len(step_keys(days, dimension, self.calendar))
        report = await self.run(name, _whole(query, dimension, count))
        steps = series_of(report.rows, days, interval, self.calendar)
        return Series(steps, report.totals)


def is_of_rollups(query: Query) -> bool:
    """Return whether rollups have the dimensions that the query needs."""
    return rollups_for(needed_for(query.group_by, query.filters)) is not None


@asynccontextmanager
async def parts_at_one_snapshot(
    reader: Reader, reports: Reports, account_id: UUID
) -> AsyncIterator[Parts]:
    """Yield the parts of an account's request. Raises PyMongoError if MongoDB does not answer."""
    async with reader.at_one_snapshot() as snapshot:
        yield Parts(reports, await moment_of(snapshot, account_id))


def _whole(query: Query, group_by: Interval, rows: int) -> Query:
    """Return a query for all rows by a dimension of time."""
    size = max(rows, 1)
    return replace(query, group_by=group_by, sort="key", search=None, page=1, page_size=size)


def _too_long(name: str) -> Unavailable:
    leave_out = "" if name in _ALWAYS else " leave it out,"
    return Unavailable(
        f"{name}: not done after {REPORT_SECONDS:.0f} seconds; ask for fewer days,{leave_out} "
        "or try again: the days that were counted are kept"
    )
