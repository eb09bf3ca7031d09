"""The benchmark of reports: a small run of each scene, and the tables."""

import argparse

import pytest

from config.settings import Settings
from lab.bench_reports import table
from lab.bench_reports.__main__ import measure, parser
from lab.bench_reports.measure import Looks

FAST = Looks(first=None, requests=1, prepared=None, later=2.0)
KEPT = Looks(first=41_000.0, requests=2, prepared=150.4, later=20.04)


def parsed(*options: str) -> argparse.Namespace:
    return parser().parse_args([*options, "--clicks", "3", "--links", "3", "--rounds", "1"])


async def test_every_report_of_a_month_has_a_row(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    await measure(settings, parsed())
    printed = capsys.readouterr().out
    assert "\n3 clicks stored and counted" in printed
    for name in ("account by hour", "one link by referrer", "overview of a country"):
        assert f"\n{name} " in printed
    assert "a day of 3 clicks" in printed


async def test_every_report_of_a_year_has_a_row(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    await measure(settings, parsed("--year"))
    printed = capsys.readouterr().out
    assert "3 links, 365 days: 3 clicks" in printed
    for name in ("account by country", "tag in a country", "country of a tag"):
        assert f"\n{name} " in printed


def test_later_looks_are_compared_with_the_smallest_size_and_with_the_clicks() -> None:
    slower = FAST._replace(later=3.0)
    found = [{"by day": FAST, "crossed": KEPT}, {"by day": slower, "crossed": KEPT}]
    [_, by_day, crossed] = table.later_looks(["10", "100"], found, {"by day": 900.0}, 1)
    assert by_day.split()[-5:] == ["2.0", "3.0", "1.50", "900", "300x"]
    assert crossed.split() == ["crossed", "20.0", "20.0", "1.00"]


def test_first_looks_show_how_many_requests_they_took() -> None:
    unmeasured = KEPT._replace(first=None, requests=1)
    found = [{"by day": FAST, "crossed": KEPT}, {"by day": FAST, "crossed": unmeasured}]
    [_, crossed] = table.first_looks(["10", "100"], found)
    assert crossed.split() == ["crossed", "41,000", "in", "2", "-", "150", "150"]


def test_all_looks_at_one_size_are_in_one_table() -> None:
    [_, by_day, crossed] = table.first_and_later_looks({"by day": FAST, "crossed": KEPT})
    assert by_day.split() == ["by", "day", "-", "-", "2.0"]
    assert crossed.split() == ["crossed", "41,000", "in", "2", "150", "20.0"]
