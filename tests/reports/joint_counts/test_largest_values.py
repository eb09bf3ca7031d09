"""The largest values of own parameters: which they are, and that all sources of counts agree."""

import tracemalloc
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import timedelta
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reports.answers.drawn import HOST, check
from tests.reports.counted import Counted
from tests.reports.history import DAYS, FIRST, History, made
from tracker.calendar import calendar_of
from tracker.reports import limits
from tracker.reports.columns import Columns, of_columns
from tracker.reports.joint_counts import tables
from tracker.reports.joint_counts.largest_values import cut
from tracker.reports.memory import bytes_of
from tracker.reports.query import Report, ReportQuery
from tracker.reports.repair.joint_check import JointCheck
from tracker.service.services import Services

LAST = FIRST + timedelta(DAYS - 1)
OWN = "parameter_0"
VALUES = [*(f"sub1={one}" for one in "abcdef"), "old=a", "old=b", "sub1=others", "none", "unknown"]

Row = tuple[str, str, str, int]


def table(rows: Sequence[Row], measure: str) -> Columns:
    names = ("link", "os", OWN)
    return of_columns(
        {name: [str(row[number]) for row in rows] for number, name in enumerate(names)},
        {measure: [row[3] for row in rows]},
    )


def expected(rows: Sequence[Row], at_most: int) -> Counter[tuple[str, ...]]:
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for link, _, value, count in rows:
        if value.partition("=")[2] not in ("", "others"):
            counts[link][value] += count
    found: Counter[tuple[str, ...]] = Counter()
    for link, os, value, count in rows:
        of_link = counts[link]
        largest = sorted(of_link, key=lambda one: (-of_link[one], one))[:at_most]
        if value in of_link and value not in largest:
            value = f"{value.partition('=')[0]}=others"
        found[link, os, value] += count
    return found


@given(
    st.lists(
        st.tuples(
            st.sampled_from("xy"),
            st.sampled_from(["iOS", "Other"]),
            st.sampled_from(VALUES),
            st.integers(0, 3),
        )
    ),
    st.sampled_from(["clicks", "conversions", "pending_conversions"]),
    st.integers(1, 4),
)
def test_all_but_the_largest_values_of_each_link_are_others(
    rows: list[Row], measure: str, at_most: int
) -> None:
    with patch.object(limits, "MAX_OWN_VALUES", at_most):
        found = cut(table(rows, measure).by(["link", "os", OWN]))
        again = cut(found)
    assert sums(found, measure) == sums(again, measure) == +expected(rows, at_most)


def sums(found: Columns, measure: str) -> Counter[tuple[str, ...]]:
    columns = [found.dimensions[name].in_rows() for name in ("link", "os", OWN)]
    counts = found.measures[measure].tolist()
    return +Counter(dict(zip(zip(*columns, strict=True), counts, strict=True)))


def test_a_hundred_thousand_values_are_cut_within_the_memory_that_reports_reserve() -> None:
    rows = [("x", "iOS", f"sub1={number}", 1 + (number < 999)) for number in range(100_000)]
    made = table(rows, "clicks")
    tracemalloc.start()
    found = cut(made)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < bytes_of(made)
    assert bytes_of(found) < bytes_of(made) / 50
    counts = sums(found, "clicks")
    assert (len(counts), counts.total()) == (1001, made.total("clicks"))
    # Of 99,001 with one click the first by text.
    assert counts["x", "iOS", "sub1=1000"] == 1
    assert counts["x", "iOS", "sub1=others"] == 99_000


def query_of(history: History, group_by: Any, **filters: Any) -> ReportQuery:
    return ReportQuery(
        account_id=history.account_id, first=FIRST, last=LAST, group_by=group_by, filters=filters
    )


async def reports(services: Services, history: History) -> list[Report]:
    link = next(one["link_id"] for one in history.clicks)
    return [
        await services.reports.reports.run(query)
        for query in (
            query_of(history, OWN),
            query_of(history, "parameter_2", parameter_0=["a", "others"]),
            query_of(history, OWN, os=["iOS"]),
            query_of(history, OWN, link=[link]),
            query_of(history, "hour", parameter_0=["others"]),
        )
    ]


async def test_a_finished_day_is_cut_in_the_same_way_whatever_counts_are_made_of(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = await made(services, Random(21))
    cached = services.stores.mongodb["joint_counts"]
    whole = await reports(services, history)
    await cached.delete_many({})
    monkeypatch.setattr(limits, "MAX_OWN_VALUES", 1)
    of_documents = await reports(services, history)
    assert {row.key for row in of_documents[0].rows} >= {"others", "none", "unknown"}
    assert [one.totals for one in (of_documents[0], of_documents[2])] == [
        one.totals for one in (whole[0], whole[2])
    ]
    assert await reports(services, history) == of_documents
    await cached.delete_many({})
    monkeypatch.setattr(limits, "LARGE_DAY", 2)
    assert await reports(services, history) == of_documents


async def test_counts_with_others_are_right_for_the_operators_check(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_OWN_VALUES", 1)
    history = await made(services, Random(22))
    await reports(services, history)
    database = services.stores.mongodb.database
    check_of = JointCheck(database, history.account_id, calendar_of("UTC"))
    days = [(FIRST + timedelta(number)).isoformat() for number in range(DAYS)]

    async def wrong() -> int:
        async with services.stores.mongodb.reads.at_one_snapshot() as snapshot:
            return sum([len(await check_of.wrong(day, snapshot)) for day in days])

    assert await wrong() == 0
    await services.stores.mongodb["clicks"].update_many({}, {"$set": {OWN: "sub1=more"}})
    assert await wrong() > 0


async def test_hours_of_a_day_that_is_not_over_keep_every_value(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_OWN_VALUES", 1)
    monkeypatch.setattr(tables, "is_over", lambda period, now: period.hour is not None)
    monkeypatch.setattr("tracker.reports.answers.reading.is_over", lambda period, now: False)
    history = await made(services, Random(23))
    await check(services, Counted(history, HOST), query_of(history, OWN))
