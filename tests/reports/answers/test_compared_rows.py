"""Reports beside other days have the rows of both, which add up to the totals of both."""

from collections.abc import Iterable
from decimal import localcontext
from random import Random

from msgspec.structs import replace

from tests.reports.answers.drawn import GROUPS, HOST, drawn
from tests.reports.counted import NO_KEYS, WIDE, Counted
from tests.reports.history import made
from tracker.calendar import calendar_of
from tracker.reports.answers.compared import read_compared
from tracker.reports.comparison import OtherDays
from tracker.reports.periods import DayRange, step_keys
from tracker.reports.query import Measures, ReportQuery
from tracker.reports.series import NO_MEASURES
from tracker.service.services import Services

SUMS = ("clicks", "bot_clicks", "unique_clicks", "conversions", "value", "payout")
BY_TIME = ("hour", "day", "week", "month")


async def test_rows_of_both_times_add_up_to_the_totals_of_both(services: Services) -> None:
    random = Random(47)
    history = await made(services, random, clicks=60, events=40)
    counted, lost = Counted(history, HOST), 0
    for group_by in GROUPS * 4:
        query = replace(drawn(random, history, group_by), page=1, page_size=1000)
        other = drawn(random, history, group_by)
        before = replace(query, first=other.first, last=other.last)
        expected = expected_rows(counted, query, before)
        days = OtherDays(DayRange(before.first, before.last), before.last, None)
        pages = [query, replace(query, page=2, page_size=2)]
        async with services.reports.reports.begin(history.account_id) as run:
            found = [await read_compared(run, "report", one, days) for one in pages]
        rows, second = [
            [(row.key, row.measures, (previous or {})[row.key]) for row in report.rows]
            for report, previous in found
        ]
        assert rows == expected, (query, before)
        assert second == expected[2:4], (query, before)
        assert {report.total_rows for report, _ in found} == {len(expected)}
        lost += sum(now == NO_MEASURES for _, now, _ in rows)
        if group_by not in (*BY_TIME, "tag", "event", "currency"):
            assert sums(now for _, now, _ in rows) == sums([counted.totals(query)])
            assert sums(then for *_, then in rows) == sums([counted.totals(before)])
    assert lost > 0


def expected_rows(
    counted: Counted, query: ReportQuery, before: ReportQuery
) -> list[tuple[str, Measures, Measures]]:
    now, then = dict(counted.rows(query)), dict(counted.rows(before))
    if query.group_by in BY_TIME:
        keys, other_keys = [
            step_keys(DayRange(one.first, one.last), one.group_by, calendar_of("UTC"))
            for one in (query, before)
        ]
        pairs = dict(zip(other_keys, keys, strict=False))
        then = {pairs[key]: of for key, of in then.items() if key in pairs}
    found = [(key, now.get(key, NO_MEASURES), then.get(key, NO_MEASURES)) for key in {*now, *then}]
    return sorted(found, key=lambda row: (-row[1].clicks, row[0] in NO_KEYS, row[0]))


def sums(measures: Iterable[Measures]) -> list[object]:
    rows = list(measures)
    with localcontext(WIDE):
        return [sum(getattr(one, name) for one in rows) for name in SUMS]
