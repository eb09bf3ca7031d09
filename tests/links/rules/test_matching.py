"""Conditions of time, address and query at their edges; `tests/clicks/redirects` tests the rest."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tracker.clicks.country import Countries
from tracker.clicks.enrich import Enrichment
from tracker.clicks.redirects.deciding import RequestVisitor
from tracker.clicks.visit import ClientHeaders
from tracker.links.rules.matching import test_of as build
from tracker.links.rules.rule import Condition, QueryMatch, TimeMatch
from tracker.links.rules.visitor import Visitor

BERLIN = "Europe/Berlin"


def visitor_with(**brought: Any) -> Visitor:
    """Return a visitor who brings nothing else."""
    headers = ClientHeaders.from_headers("", "", "", "")
    visitor = RequestVisitor(Enrichment(Countries(), store_ip=False), "", headers, None, None)
    vars(visitor).update(brought)
    return visitor


def visitor_at(local: str, fold: int = 0) -> Visitor:
    """Return somebody who comes at a time on the clocks of Berlin."""
    moment = datetime.fromisoformat(local).replace(tzinfo=ZoneInfo(BERLIN), fold=fold)
    return visitor_with(at=round(moment.timestamp() * 1000))


@pytest.mark.parametrize(
    ("match", "local", "holds"),
    [
        (TimeMatch(zone=BERLIN, from_="09:00", to="17:00"), "2026-11-30T08:59:59.999", False),
        (TimeMatch(zone=BERLIN, from_="09:00", to="17:00"), "2026-11-30T09:00", True),
        (TimeMatch(zone=BERLIN, from_="09:00", to="17:00"), "2026-11-30T16:59:59.999", True),
        (TimeMatch(zone=BERLIN, from_="09:00", to="17:00"), "2026-11-30T17:00", False),
        (TimeMatch(zone=BERLIN, from_="22:00", to="02:00"), "2026-11-30T21:59", False),
        (TimeMatch(zone=BERLIN, from_="22:00", to="02:00"), "2026-11-30T22:00", True),
        (TimeMatch(zone=BERLIN, from_="22:00", to="02:00"), "2026-12-01T01:59", True),
        (TimeMatch(zone=BERLIN, from_="22:00", to="02:00"), "2026-12-01T02:00", False),
        (TimeMatch(zone=BERLIN, weekdays=[1]), "2026-11-30T23:59", True),
        (TimeMatch(zone=BERLIN, weekdays=[1]), "2026-12-01T00:00", False),
        (TimeMatch(zone=BERLIN, hours=[0, 23]), "2026-11-30T23:30", True),
        (TimeMatch(zone=BERLIN, hours=[0, 23]), "2026-12-01T01:00", False),
        (TimeMatch(zone=BERLIN, from_="2026-12-24T18:00"), "2026-12-24T17:59:59.999", False),
        (TimeMatch(zone=BERLIN, from_="2026-12-24T18:00"), "2026-12-24T18:00", True),
        (TimeMatch(zone=BERLIN, to="2026-12-24T18:00"), "2026-12-24T17:59:59.999", True),
        (TimeMatch(zone=BERLIN, to="2026-12-24T18:00"), "2026-12-24T18:00", False),
        (TimeMatch(zone=BERLIN, from_="2026-12-24T18:00", weekdays=[5]), "2026-12-24T19:00", False),
        (TimeMatch(zone=BERLIN, from_="2026-12-24T18:00", weekdays=[5]), "2026-12-25T19:00", True),
    ],
)
def test_a_time_holds_from_its_start_until_its_end(
    match: TimeMatch, local: str, holds: bool
) -> None:
    assert build(Condition(time=match))(visitor_at(local)) is holds
    assert build(Condition(time=match, not_=True))(visitor_at(local)) is not holds


def test_a_time_that_clocks_show_twice_or_skip_is_reached_once() -> None:
    twice = build(Condition(time=TimeMatch(zone=BERLIN, from_="2026-10-25T02:30")))
    seen = [
        twice(visitor_at(f"2026-10-25T02:{minute}", fold)) for fold in (0, 1) for minute in (15, 45)
    ]
    assert seen == [False, True, True, True]
    skipped = build(Condition(time=TimeMatch(zone=BERLIN, from_="2026-03-29T02:30")))
    seen = [skipped(visitor_at(f"2026-03-29T{clock}")) for clock in ("01:59", "03:29", "03:30")]
    assert seen == [False, False, True]


def test_an_address_is_found_in_the_widest_of_networks_within_each_other() -> None:
    test = build(Condition(ip=["10.0.0.0/8", "10.1.0.0/16", "10.1.2.3/32", "::/16"]))
    addresses = ("10.1.2.4", "10.200.0.0", "11.0.0.0", "::1", "1::", "::ffff:10.0.0.1")
    found = [test(visitor_with(address=one)) for one in addresses]
    assert found == [True, True, False, True, False, True]


@pytest.mark.parametrize(
    ("raw", "holds"),
    [
        (None, None),
        ("", False),
        ("src=mail", True),
        ("source=mail", False),
        ("x=src", False),
        ("%73rc=m%61il", True),
        ("src=web&src=mail", True),
        ("src", False),
        ("src=mail%00", False),
        ("SRC=mail", False),
    ],
)
def test_a_parameter_equals_one_of_the_values_decoded_and_with_case(
    raw: str | None, holds: bool | None
) -> None:
    visitor = visitor_with(raw_query=raw)
    assert build(Condition(query=QueryMatch(key="src", values=["mail", "sms"])))(visitor) is holds
