"""The reports of one request: one snapshot and one time limit, one report after another.

A snapshot takes one query at a time. So a request needs one permit, however many parts it has.
"""

from collections.abc import AsyncIterator, Awaitable, Collection, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from typing import Final, NamedTuple, TypeVar
from uuid import UUID

from msgspec.structs import replace

from tracker.errors import BadRequest, TooSlow, Unavailable
from tracker.reports.answers.reports import Reports, WholeReport
from tracker.reports.answers.rows import Rows
from tracker.reports.answers.turn import Turn
from tracker.reports.comparison import Comparison, OtherDays
from tracker.reports.counted import needed_for
from tracker.reports.joint_counts.scope import Moment, moment_of
from tracker.reports.memory import Reservation
from tracker.reports.periods import DayRange
from tracker.reports.query import Measures, Report, ReportQuery
from tracker.reports.rollups.layout import rollups_for
from tracker.reports.rollups.shared_rollups import SharedRollups
from tracker.reports.series import Interval, Step, row_dimension, series_of, step_keys
from tracker.stores.mongodb.reads import MongoReads

Found = TypeVar("Found")


class Series(NamedTuple):
    """The steps of a range, and its totals."""

    steps: Sequence[Step]
    totals: Measures


_ALWAYS: Final = ("report", "series", "dimension")
"""The parts that every request has."""

_MANY: Final = 3
"""With so many combinations of dimensions, counting by all dimensions at once is faster; with so
many queries, reading whole rollups."""


class Parts:
    """The parts of one request. The name of a part is the field that asks for it."""

    def __init__(self, reports: Reports, moment: Moment, turn: Turn) -> None:
        self.calendar = moment.calendar
        self.at = moment.at
        self._reports = reports
        self._moment = moment
        self._turn = turn

    def expect(self, queries: Sequence[ReportQuery], others: int = 0) -> None:
        """Plan these queries, and `others` of the same dimensions.

        Documents that several of them must count are read once; days, by all dimensions. So are the
        rollups of a link.
        """
        crossed = [one for one in queries if not is_of_rollups(one)]
        needed = dict.fromkeys(needed_for(one.group_by, one.filters) for one in crossed)
        self._turn.combinations = list(needed)
        self._turn.is_thorough = len(needed) >= _MANY
        if len(queries) >= _MANY:
            self._turn.rollups = SharedRollups()
        self.expect_parts(len(queries) + others)

    def expect_parts(self, count: int) -> None:
        """Plan at most so many parts, which measure the progress."""
        self._turn.progress.expect(count)

    async def other_days(self, comparison: Comparison) -> OtherDays:
        """Return the other days, up to the counterpart of the request's moment.

        Where clicks may be deleted, they end with the hour before, because counts have no minutes.
        Raises BadRequest if the calendar lacks the days.
        """
        try:
            found = comparison.at(self.calendar, self.at)
        except OverflowError:
            raise self._no_days("compare") from None
        if found.until is None:
            return found
        hour = self.calendar.start_of_hour(*self.calendar.day_and_hour(found.until))
        is_kept = await self._reports.first_day_of_clicks() <= hour.date()
        return found if is_kept else found._replace(until=hour)

    def reserve(self) -> AbstractContextManager[Reservation]:
        return self._reports.memory.reserve(self._turn.account_id)

    async def run(
        self,
        name: str,
        query: ReportQuery,
        also: Collection[str] = (),
        reservation: Reservation | None = None,
    ) -> Report:
        """Return the report of a part. Messages of BadRequest and Unavailable name the part.

        Raises BadRequest also if the calendar lacks the days; else as `Reports.run`.
        """
        return await self._named(
            name, self._reports.run(query, self._moment, self._turn, also, reservation)
        )

    async def rows(self, name: str, query: ReportQuery, reservation: Reservation) -> Rows:
        return await self._named(
            name, self._reports.rows(query, self._moment, self._turn, reservation)
        )

    async def whole(
        self, name: str, query: ReportQuery, reservation: Reservation, also: Collection[str] = ()
    ) -> WholeReport:
        return await self._named(
            name, self._reports.whole(query, self._moment, self._turn, reservation, also)
        )

    async def _named(self, name: str, read: Awaitable[Found]) -> Found:
        try:
            found = await read
        except (BadRequest, Unavailable) as error:
            rule = error.message.removeprefix("report: ")
            hint = "" if name in _ALWAYS or not isinstance(error, TooSlow) else ", or leave it out"
            error.set_message(f"{name}: {rule}{hint}")
            raise
        except OverflowError:
            raise self._no_days(name) from None
        self._turn.progress.finish_part()
        return found

    def _no_days(self, name: str) -> BadRequest:
        zone = self.calendar.zone_at(self.at)
        return BadRequest(f"{name}: the calendar of {zone} does not have all days")

    async def totals(self, name: str, query: ReportQuery) -> Measures:
        """Return the totals of a query, which are equal in every dimension."""
        return (await self.run(name, _whole(query, "day", 1))).totals

    async def series(self, name: str, query: ReportQuery, interval: Interval) -> Series:
        """Return the series of a query's days. Raises as `run` and `step_keys`."""
        days = DayRange(query.first, query.last)
        dimension = row_dimension(interval)
        count = len(step_keys(days, dimension, self.calendar))
        report = await self.run(name, _whole(query, dimension, count))
        steps = series_of(report.rows, days, interval, self.calendar)
        return Series(steps, report.totals)


def is_of_rollups(query: ReportQuery) -> bool:
    return rollups_for(needed_for(query.group_by, query.filters)) is not None


@asynccontextmanager
async def parts_at_one_snapshot(
    reader: MongoReads, reports: Reports, account_id: UUID
) -> AsyncIterator[Parts]:
    """Yield the parts of an account's request. Raises as entering `Reports.turn`."""
    async with reports.turn(account_id) as turn, reader.at_one_snapshot() as snapshot:
        yield Parts(reports, await moment_of(snapshot, account_id), turn)


def _whole(query: ReportQuery, group_by: Interval, rows: int) -> ReportQuery:
    """Return the query for all rows by a dimension of time."""
    size = max(rows, 1)
    return replace(query, group_by=group_by, sort="key", search=None, page=1, page_size=size)
