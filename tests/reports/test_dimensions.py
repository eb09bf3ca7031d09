"""The rollups that have what a report needs, and values under encoded field names."""

from random import Random
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reports.history import days, made
from tracker.clicks.country import COUNTRIES
from tracker.feeds.filter import (
    FeedFilter,
    conditions_for_clicks,
    conditions_for_conversions,
)
from tracker.reports.counted import COUNTED_DIMENSIONS, needed_for
from tracker.reports.dimensions import CARDS, DIMENSIONS, FILTERS, ReportDimension
from tracker.reports.filters import Filter
from tracker.reports.query import GroupBy, Report, ReportQuery
from tracker.reports.rollups.layout import RollupSelection, decoded, encoded, rollups_for
from tracker.service.services import Services

CROSSED = None


def test_reports_group_by_every_dimension_that_is_counted() -> None:
    assert set(COUNTED_DIMENSIONS) <= set(get_args(GroupBy))


def test_panels_are_of_a_card_of_the_console_or_of_none() -> None:
    assert {one.card for one in DIMENSIONS.values()} == {*CARDS, ""}


@pytest.mark.parametrize(
    ("group_by", "filters", "selection"),
    [
        ("day", [], RollupSelection("account", None)),
        ("hour", [], RollupSelection("account", "hour")),
        ("weekday", [], RollupSelection("account", None)),
        ("event", [], RollupSelection("account", "event")),
        ("device", [], RollupSelection("account", "device")),
        ("device", ["device"], RollupSelection("account", "device")),
        ("day", ["device"], RollupSelection("account", "device")),
        ("domain", ["domain"], RollupSelection("account", "domain")),
        ("day", ["domain"], RollupSelection("account", "domain")),
        ("link", [], RollupSelection("link", None)),
        ("tag", ["link", "tag", "domain"], RollupSelection("link", None)),
        ("link", ["device"], RollupSelection("link", "device")),
        ("day", ["tag"], RollupSelection("link", None)),
        ("hour", ["link"], RollupSelection("link", "hour")),
        ("hour_of_day", ["link"], RollupSelection("link", "hour")),
        ("hour_of_week", ["country"], CROSSED),
        ("event", ["tag"], RollupSelection("link", "event")),
        ("device", ["domain"], RollupSelection("link", "device")),
        ("domain", ["device"], RollupSelection("link", "device")),
        ("device", ["country"], CROSSED),
        ("link", ["country", "os"], CROSSED),
        ("hour", ["browser"], CROSSED),
        ("event", ["browser"], CROSSED),
        ("referrer", [], CROSSED),
        ("bot", [], CROSSED),
        ("day", ["utm_source"], CROSSED),
    ],
)
def test_a_report_reads_the_smallest_rollups_that_have_its_dimensions(
    group_by: str, filters: list[str], selection: RollupSelection | None
) -> None:
    assert rollups_for(needed_for(group_by, filters)) == selection


EUROPE = ("DE", "FR")


@pytest.fixture
def continents(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have one more dimension, which is derived from the country."""
    members = {"EU": EUROPE, "other": sorted(COUNTRIES - {*EUROPE}), "unknown": ["unknown"]}
    continent = ReportDimension(
        "continent",
        derived_from=("country",),
        key=lambda _, country: next(key for key, one in members.items() if country in one),
        filter=Filter(members=members.__getitem__),
    )
    monkeypatch.setitem(DIMENSIONS, "continent", continent)
    monkeypatch.setitem(FILTERS, "continent", continent.filter)


@pytest.mark.usefixtures("continents")
async def test_a_dimension_that_is_derived_from_another_needs_its_row_only(
    services: Services,
) -> None:
    history = await made(services, Random(4))
    [first, *_, last] = days()

    async def report(group_by: str, **filters: list[str]) -> Report:
        query = ReportQuery(
            account_id=history.account_id,
            first=first,
            last=last,
            group_by=group_by,
            filters=filters,
            bots="include",
        )
        return await services.reports.reports.run(query)

    by_country, found = await report("country"), await report("continent")
    clicks = {row.key: row.measures.clicks for row in found.rows}
    assert found.totals == by_country.totals
    assert clicks["EU"] == sum(row.measures.clicks for row in by_country.rows if row.key in EUROPE)
    assert await report("link", continent=["EU"]) == await report("link", country=[*EUROPE])
    both = await report("os", continent=["EU"], country=["DE", "unknown"])
    assert both == await report("os", country=["DE"])


@pytest.mark.usefixtures("continents")
def test_feeds_are_filtered_by_the_values_of_the_source() -> None:
    for conditions in (conditions_for_clicks, conditions_for_conversions):
        derived = conditions(FeedFilter(values={"continent": ["EU", "unknown"]}), "tracker.test")
        own = conditions(FeedFilter(values={"country": [*EUROPE, "unknown"]}), "tracker.test")
        assert derived == own


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_field_name_stands_for_one_value(value: str) -> None:
    assert decoded(encoded(value)) == value
    assert not set(encoded(value)) & set(".$\0")
