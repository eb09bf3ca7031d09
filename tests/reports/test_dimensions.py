"""The rollups that have what a report needs, and values under encoded field names."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracker.clicks.country import COUNTRIES
from tracker.clicks.user_agent import BROWSERS, DEVICES, SYSTEMS
from tracker.reports.dimensions import ALL_COUNTED, RollupSource, needed_for, rollups_for
from tracker.reports.field_names import decoded, encoded
from tracker.reports.query import GroupBy

CROSSED = None


def test_reports_group_by_every_dimension_that_is_counted() -> None:
    assert set(ALL_COUNTED) <= set(get_args(GroupBy))


@pytest.mark.parametrize(
    ("group_by", "filters", "source"),
    [
        ("day", [], RollupSource("account", None)),
        ("hour", [], RollupSource("account", "hour")),
        ("weekday", [], RollupSource("account", None)),
        ("event", [], RollupSource("account", "event")),
        ("device", [], RollupSource("account", "device")),
        ("device", ["device"], RollupSource("account", "device")),
        ("day", ["device"], RollupSource("account", "device")),
        ("domain", ["domain"], RollupSource("account", "domain")),
        ("day", ["domain"], RollupSource("account", "domain")),
        ("link", [], RollupSource("link", None)),
        ("tag", ["link", "tag", "domain"], RollupSource("link", None)),
        ("link", ["device"], RollupSource("link", "device")),
        ("day", ["tag"], RollupSource("link", None)),
        ("hour", ["link"], RollupSource("link", "hour")),
        ("hour_of_day", ["link"], RollupSource("link", "hour")),
        ("hour_of_week", ["country"], CROSSED),
        ("event", ["tag"], RollupSource("link", "event")),
        ("device", ["domain"], RollupSource("link", "device")),
        ("domain", ["device"], RollupSource("link", "device")),
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
    group_by: str, filters: list[str], source: RollupSource | None
) -> None:
    assert rollups_for(needed_for(group_by, filters)) == source


def test_only_names_of_domains_are_encoded() -> None:
    for value in (*COUNTRIES, *BROWSERS, *SYSTEMS, *DEVICES, "Other", "unknown"):
        assert encoded(value) == value
    assert encoded("a-b.example") == "a-b%2Eexample"


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_field_name_stands_for_one_value(value: str) -> None:
    assert decoded(encoded(value)) == value
    assert not set(encoded(value)) & set(".$\0")
