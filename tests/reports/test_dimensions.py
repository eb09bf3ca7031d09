"""The source of each report, and values under encoded field names."""

from typing import get_args

import pytest

from tracker.clicks.country import COUNTRIES
from tracker.clicks.dimensions import NAMES
from tracker.clicks.user_agent import BROWSERS, DEVICES, SYSTEMS
from tracker.reports.dimensions import Source, source_of
from tracker.reports.field_names import encoded
from tracker.reports.query import GroupBy


def test_reports_group_by_every_visitor_dimension() -> None:
    assert set(NAMES) <= set(get_args(GroupBy))


@pytest.mark.parametrize(
    ("group_by", "filters", "source"),
    [
        ("day", [], Source("account")),
        ("hour", [], Source("account", "hour")),
        ("event", [], Source("account", "event")),
        ("device", [], Source("account", "device")),
        ("device", ["device"], Source("account", "device")),
        ("day", ["device"], Source("account", "device")),
        ("domain", ["domain"], Source("account", "domain")),
        ("day", ["domain"], Source("account", "domain")),
        ("link", [], Source("link")),
        ("tag", ["link", "tag", "domain"], Source("link")),
        ("link", ["device"], Source("link", "device")),
        ("day", ["tag"], Source("link")),
        ("hour", ["link"], Source("link", "hour")),
        ("event", ["tag"], Source("link", "event")),
        ("device", ["domain"], Source("link", "device")),
        ("domain", ["device"], Source("link", "device")),
        ("hour", ["domain"], Source("link", "hour")),
        ("device", ["country"], Source("clicks")),
        ("link", ["country", "os"], Source("clicks")),
        ("hour", ["browser"], Source("clicks")),
        ("event", ["browser"], Source("clicks")),
    ],
)
def test_a_report_reads_the_smallest_source_that_has_its_dimensions(
    group_by: str, filters: list[str], source: Source
) -> None:
    assert source_of(group_by, filters) == source


def test_only_names_of_domains_are_encoded() -> None:
    for value in (*COUNTRIES, *BROWSERS, *SYSTEMS, *DEVICES, "Other", "unknown"):
        assert encoded(value) == value
    assert encoded("a-b.example") == "a-b%2Eexample"
