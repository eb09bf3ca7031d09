"""The figures of a rule, and whether its webhook is told of them."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import reduce
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import UnsetType

from tracker.alerts.rules import AlertRule, Rule, SummaryRule
from tracker.calendar import Calendar
from tracker.clock import iso
from tracker.reports.answers.one_report import read_series
from tracker.reports.answers.selection import resolved
from tracker.reports.api.figures import MEASURE_FIELDS
from tracker.reports.api.overview import CreateOverview, OverviewFigures, OverviewPanel, overview
from tracker.reports.api.schema import DateRange, ReportRequest
from tracker.reports.periods import DayRange
from tracker.reports.series import NO_MEASURES, added
from tracker.reports.services import ReportServices

DELAY: Final = timedelta(minutes=5)
SPREAD_SECONDS: Final = 300
"""Alerts are looked at so long after an hour, each at its own time: the clicks of the hour are
stored, and an account with many alerts is among the others."""

AT: Final = time(8)
MAX_ROWS: Final = 5

_DAY: Final = timedelta(days=1)
_WEEK: Final = timedelta(days=7)
_SUMMARIZED: Final = ("clicks", "conversions", "value", "payout", "cost", "profit")


class Outcome(NamedTuple):
    """The changes of a rule, and the message of it, if any."""

    changes: Mapping[str, Any]
    told: Mapping[str, Any] | None = None


async def read_alert(
    services: ReportServices, rule: Rule, calendar: Calendar, at: datetime
) -> Outcome:
    wanted = msgspec.json.decode(rule.rule, type=AlertRule)
    day, hour = calendar.day_and_hour(at)
    until = calendar.start_of_hour(day, hour)
    ends = [(day, hour)]
    if wanted.condition == "halved":
        before = day - _WEEK
        ends.append((before, min(hour, calendar.hours_in(before) - 1)))
    value, *earlier = await _sums(services, rule, wanted, calendar, ends)
    limit = _half(earlier[0]) if earlier else wanted.threshold
    spread = timedelta(seconds=rule.id.int % SPREAD_SECONDS)
    due_at = calendar.end_of_hour(day, hour) + DELAY + spread
    changes = {"value": value, "until": until, "due_at": due_at, "problem": None}
    pause, told_until = timedelta(hours=wanted.pause_hours), rule.told_until
    is_told = told_until is not None and until - told_until < pause
    if value is None or limit is None or is_told or not _is_met(wanted, value, limit):
        return Outcome(changes)
    text = _alert_text(rule, wanted, value, limit, f"{calendar.local(until):%Y-%m-%d %H:%M}")
    told = {"measure": wanted.measure, "value": value, "limit": limit, "until": iso(until)}
    return Outcome({**changes, "told_until": until}, {**told, "hours": wanted.hours, "text": text})


async def _sums(
    services: ReportServices,
    rule: Rule,
    wanted: AlertRule,
    calendar: Calendar,
    ends: Sequence[tuple[date, int]],
) -> list[float | None]:
    """Return the measure of the hours before each of `ends`, the latest first."""
    hours, (last, _) = timedelta(hours=wanted.hours), ends[0]
    first = calendar.day_of(calendar.start_of_hour(*ends[-1]) - hours)
    days = DateRange.of(DayRange(first, last))
    body = ReportRequest(account_id=rule.account_id, date_range=days, filters=wanted.filters)
    async with services.reports.begin(rule.account_id) as run:
        query = resolved(run.scope, body.query(rule.account_id))
        steps = (await read_series(run, "report", query, "hour")).steps
    keys, name = [step.key for step in steps], MEASURE_FIELDS[wanted.measure]
    found = []
    for end in ends:
        number = keys.index(calendar.hour_text(*end))
        within = [step.measures for step in steps[max(0, number - wanted.hours) : number]]
        value = getattr(reduce(added, within, NO_MEASURES), name)
        found.append(None if value is None else float(value))
    return found


def _half(value: float | None) -> float | None:
    """Return the half of what there was. Nothing, or a loss, has none."""
    return value / 2 if value is not None and value > 0 else None


def _is_met(wanted: AlertRule, value: float, limit: float) -> bool:
    return value > limit if wanted.condition == "above" else value < limit


def _alert_text(rule: Rule, wanted: AlertRule, value: float, limit: float, until: str) -> str:
    name = _name(wanted.measure)
    figure = f"{name} {_shown(wanted.measure, value)} within {wanted.hours} hours up to {until}"
    shown = _shown(wanted.measure, limit)
    half = f"less than half of a week before, which is {shown}"
    condition = half if wanted.condition == "halved" else f"{wanted.condition} {shown}"
    return f"{rule.name}: {figure}, {condition}"


async def read_summary(
    services: ReportServices, rule: Rule, calendar: Calendar, at: datetime
) -> Outcome:
    """A process that was down tells the last week or month late, and no earlier one."""
    wanted = msgspec.json.decode(rule.rule, type=SummaryRule)
    day = _begin(calendar.day_of(at), wanted)
    if calendar.at_clock(day, AT) > at:
        day = _begin(day - _DAY, wanted)
    moment = calendar.at_clock(day, AT)
    after = _begin(day + (_WEEK if wanted.every == "week" else 31 * _DAY), wanted)
    changes = {"due_at": calendar.at_clock(after, AT), "problem": None}
    if moment <= rule.until:
        return Outcome(changes)
    days = DayRange(_begin(day - _DAY, wanted), day - _DAY)
    panels = []
    if not isinstance(wanted.group_by, UnsetType):
        sort = f"-{wanted.measure}"
        panels = [OverviewPanel(group_by=wanted.group_by, limit=MAX_ROWS, sort=sort)]
    body = CreateOverview(
        account_id=rule.account_id,
        date_range=DateRange.of(days),
        filters=wanted.filters,
        compare="previous_week" if wanted.every == "week" else "previous_month",
        interval="day",
        panels=panels,
    )
    found = await overview(services, rule.account_id, body)
    told = {"from": days.first.isoformat(), "to": days.last.isoformat(), "totals": found.totals}
    told |= {"previous": found.previous, "panels": found.panels}
    text = "\n".join(_summary_lines(rule, wanted, days, found))
    return Outcome({**changes, "until": moment, "told_until": moment}, {**told, "text": text})


def _summary_lines(
    rule: Rule, wanted: SummaryRule, days: DayRange, found: OverviewFigures
) -> Iterator[str]:
    yield f"{rule.name}: {days.first} to {days.last}"
    for measure in dict.fromkeys((wanted.measure, *_SUMMARIZED)):
        value, before = (
            getattr(one, MEASURE_FIELDS[measure], None) for one in (found.totals, found.previous)
        )
        if isinstance(value, int | float | Decimal):
            shown = f"{_name(measure)}: {_shown(measure, value)}"
            has_before = isinstance(before, int | float | Decimal)
            yield f"{shown} (before: {_shown(measure, before)})" if has_before else shown
    for dimension, panel in found.panels.items():
        values = [(row.name, getattr(row, MEASURE_FIELDS[wanted.measure])) for row in panel.rows]
        rows = [f"{name} {_shown(wanted.measure, value)}" for name, value in values]
        yield f"First by {dimension}: {', '.join(rows) or 'none'}"


def _name(measure: str) -> str:
    return str(MEASURE_FIELDS[measure]).replace("_", " ")


def _shown(measure: str, value: Any) -> str:
    """Return a figure in words. Numbers that a report leaves out are 0."""
    if not isinstance(value, int | float | Decimal):
        return "unknown" if value is None else "0"
    if measure in ("conversionRate", "roi"):
        return f"{value:.2%}"
    return f"{value:,.2f}".removesuffix(".00")


def _begin(day: date, wanted: SummaryRule) -> date:
    return day - day.weekday() * _DAY if wanted.every == "week" else day.replace(day=1)
