"""The answers of `/api/reports`, with the measures that a request has chosen."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from tracker.calendar import Calendar
from tracker.reports.answers.compared import PreviousFigures
from tracker.reports.api.figures import (
    MEASURE_FIELDS,
    OF_COST,
    OF_CURRENCIES,
    OF_STATUS,
    FiguresOfAll,
    MeasureName,
    OtherCost,
    OtherCurrency,
    ReportChange,
    ReportMeasures,
    ReportRow,
    ReportStep,
    ReportTotals,
)
from tracker.reports.comparison import RATE_POINTS, change_of, is_unfinished
from tracker.reports.periods import DayRange, Interval, step_at
from tracker.reports.query import GroupRow, Measures
from tracker.reports.series import Step
from tracker.web.schema import Day


class UnfinishedPeriod(msgspec.Struct, kw_only=True):
    """The progress of days that are not over, and the same part of the days compared with them."""

    until: Annotated[
        str,
        Meta(
            description="the moment of the report, in its time zone",
            examples=["2026-01-31T04:14:37.250+01:00"],
        ),
    ]
    step: Annotated[str, Meta(description="the unfinished step of the series")] | UnsetType = UNSET
    previous_until: (
        Annotated[
            str,
            Meta(
                description="the end of the compared part of the other days, in rows and totals; "
                "missing if they count whole"
            ),
        ]
        | UnsetType
    ) = field(default=UNSET, name="previousUntil")
    previous_step: (
        Annotated[
            ReportMeasures,
            Meta(
                description="the step of previousSeries to compare with `step`, up to "
                "previousUntil; missing if the two steps do not match"
            ),
        ]
        | UnsetType
    ) = field(default=UNSET, name="previousStep")


class TimeZoneChange(msgspec.Struct, kw_only=True):
    """A day with which the account changes its time zone. Earlier days stay in the zone before."""

    day: Annotated[Day, Meta(description="the first day in the new zone; begins as days before")]
    hours: Annotated[int, Meta(description="the length of that day", examples=[23])]
    previous_time_zone: Annotated[
        str, Meta(description="the zone of the days before", examples=["UTC"])
    ] = field(name="previousTimeZone")


TimeZoneChanges = (
    Annotated[list[TimeZoneChange], Meta(description="the changes in dateRange, if any")]
    | UnsetType
)


def zone_of(calendar: Calendar, days: DayRange, at: datetime) -> str:
    """Return the zone of the last of these days, or of a moment before it."""
    return calendar.zone_at(min(at, calendar.start_of(days.last)))


def zone_changes(calendar: Calendar, days: DayRange) -> list[TimeZoneChange] | UnsetType:
    found = [
        TimeZoneChange(day=one.first.isoformat(), hours=one.hours, previous_time_zone=one.before)
        for one in calendar.changes
        if days.first <= one.first <= days.last
    ]
    return found or UNSET


class ChosenColumns:
    """The figures of an answer, with the chosen columns.

    If none are chosen: all but those `without`, and those that `told` has nothing of. Most accounts
    have neither statuses nor costs, and their rows would be twice as long.
    """

    def __init__(
        self,
        columns: Sequence[MeasureName] | UnsetType,
        told: Iterable[Measures] | None = None,
        without: Collection[str] = (),
    ) -> None:
        if isinstance(columns, UnsetType):
            left_out = {*without, *(() if told is None else _untold(told))}
            columns = [name for name in MEASURE_FIELDS if name not in left_out]
        self._fields: list[str] = [MEASURE_FIELDS[name] for name in columns]

    def measures(self, measures: Measures) -> ReportMeasures:
        return ReportMeasures(**self._chosen(measures))

    def change(self, current: Measures, previous: Measures) -> ReportChange:
        change, names = change_of(current, previous), self._fields
        points = [RATE_POINTS] if "conversion_rate" in names else []
        return ReportChange(**{name: change[name] for name in (*names, *points)})

    def totals(self, current: Measures, previous: Measures | None) -> ReportTotals:
        return ReportTotals(**self._of_all(current), **self._compared(current, previous))

    def figures(self, measures: Measures) -> FiguresOfAll:
        return FiguresOfAll(**self._of_all(measures))

    def rows(
        self, rows: Iterable[GroupRow], previous: Mapping[str, Measures] | None
    ) -> list[ReportRow]:
        """Return the rows. Their measures `previous` are by key."""
        found = []
        for row in rows:
            compared = self._compared(row.measures, previous[row.key] if previous else None)
            chosen = self._current(row.measures)
            found.append(ReportRow(key=row.key, name=row.name, **chosen, **compared))
        return found

    def steps(self, steps: Iterable[Step]) -> list[ReportStep]:
        return [ReportStep(key=step.key, **self._chosen(step.measures)) for step in steps]

    def unfinished(
        self,
        days: DayRange,
        at: datetime,
        calendar: Calendar,
        interval: Interval | UnsetType,
        previous: PreviousFigures | None,
    ) -> UnfinishedPeriod | UnsetType:
        """Return the progress of `days` at a moment, unless they are over."""
        if not is_unfinished(days, calendar, at):
            return UNSET
        found = UnfinishedPeriod(until=calendar.moment_text(at))
        if not isinstance(interval, UnsetType):
            found.step = step_at(at, interval, calendar)
        if previous is not None and previous.days.until is not None:
            found.previous_until = calendar.moment_text(previous.days.until)
            if previous.step is not None:
                found.previous_step = self.measures(previous.step)
        return found

    def _chosen(self, of: Measures) -> dict[str, Any]:
        return {name: getattr(of, name) for name in self._fields}

    def _current(self, of: Measures) -> dict[str, Any]:
        found = self._chosen(of)
        if of.other_currencies and OF_CURRENCIES.intersection(self._fields):
            others = [OtherCurrency(**one._asdict()) for one in of.other_currencies]
            found["other_currencies"] = others
        return found

    def _of_all(self, of: Measures) -> dict[str, Any]:
        found = self._current(of)
        if "cost" in self._fields:
            found["unspread_cost"] = of.unspread_cost or UNSET
            costs = [OtherCost(currency=code, cost=cost) for code, cost in of.other_costs]
            found["other_costs"] = costs or UNSET
        return found

    def _compared(self, current: Measures, previous: Measures | None) -> dict[str, Any]:
        if previous is None:
            return {}
        return {"previous": self.measures(previous), "change": self.change(current, previous)}


def _untold(told: Iterable[Measures]) -> Collection[str]:
    statuses, costs = False, False
    for of in told:
        statuses = statuses or bool(
            of.pending_conversions or of.rejected_conversions or of.refunded_value
        )
        costs = costs or of.cost is not None or bool(of.unknown_cost_clicks or of.other_costs)
    return (*(() if statuses else OF_STATUS), *(() if costs else (*OF_COST, "epc")))
