"""Shlink: its API with rules and visits, and the CSVs of its clients."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.imports.reading import TableApi, read_api, read_sample, rule
from tracker.clock import now
from tracker.errors import BadRequest
from tracker.imports.item import Loss, RefusedRow, SourceItem, SourceLink, SourceVisit
from tracker.imports.readers import fields

QUERY = Loss(
    "query", "a visitor's parameter no longer replaces the destination's of that name: both stay"
)
CREATED = datetime(2025, 5, 1, 6, tzinfo=UTC)
AT = datetime(2025, 6, 1, 8, tzinfo=UTC)


def record(code: str, **changes: Any) -> dict[str, Any]:
    return {
        "shortCode": code,
        "shortUrl": f"https://s.test/{code}",
        "longUrl": "https://ex.test/",
        "dateCreated": "2025-05-01T08:00:00+02:00",
        "tags": ["a"],
        "meta": {"validSince": None, "validUntil": None, "maxVisits": None},
        "domain": None,
        "title": None,
        "crawlable": False,
        "forwardQuery": True,
        "visitsSummary": {"total": 0, "nonBots": 0, "bots": 0},
        "hasRedirectRules": False,
    } | changes


def visit(number: int) -> dict[str, Any]:
    """Return a visit; two are of each second."""
    return {
        "referer": f"https://t.test/{number}",
        "date": (AT + timedelta(seconds=number // 2)).isoformat(),
        "userAgent": "Mozilla/5.0",
        "visitLocation": {"countryCode": "DE", "cityName": "Berlin"} if number % 2 else None,
        "potentialBot": number == 3,
        "visitedUrl": "https://s.test/abc12?x=1",
        "redirectUrl": "https://ex.test/?x=1",
    }


RULES = [
    {"longUrl": "https://ex.test/i", "priority": 1, "conditions": [
        {"type": "device", "matchKey": None, "matchValue": "ios"},
    ]},
    {"longUrl": "https://ex.test/b", "priority": 2, "conditions": [
        {"type": "geolocation-city-name", "matchKey": None, "matchValue": "Berlin"},
    ]},
]  # fmt: skip


class Instance:
    """A Shlink whose link `abc12` gets visits while its visits are read."""

    def __init__(self, links: list[dict[str, Any]], visits: int, arrivals: int) -> None:
        self._links = links
        self._visits = list(map(visit, range(visits)))
        self._arrivals = arrivals

    def __call__(self, path: str, parameters: Mapping[str, Any]) -> Any:
        if path == "rest/v3/short-urls":
            page, size = parameters["page"], 2
            found = self._links[(page - 1) * size : page * size]
            last = -(-len(self._links) // size)
            return {"shortUrls": {"data": found, "pagination": {"pagesCount": last}}}
        if path == "rest/v3/short-urls/a%2Fb/redirect-rules":
            assert parameters == {"domain": "go.ex.test"}
            return {"defaultLongUrl": "https://ex.test/", "redirectRules": RULES}
        assert path == "rest/v3/short-urls/abc12/visits" and "domain" not in parameters
        until = datetime.fromisoformat(parameters["endDate"])
        newest_first = [
            one for one in self._visits[::-1] if datetime.fromisoformat(one["date"]) <= until
        ]
        first = (parameters["page"] - 1) * parameters["itemsPerPage"]
        found = newest_first[first : first + parameters["itemsPerPage"]]
        last = -(-len(newest_first) // parameters["itemsPerPage"])
        if self._arrivals:
            self._arrivals -= 1
            self._visits += [{**visit(0), "date": now().isoformat()}] * 300
        return {"visits": {"data": found, "pagination": {"pagesCount": last}}}


def visits_of(items: list[SourceItem]) -> list[SourceVisit]:
    return [one for one in items if isinstance(one, SourceVisit)]


def test_the_api_gives_links_with_rules_and_visits() -> None:
    links = [
        record("abc12", title="T", visitsSummary={"total": 4}, crawlable=True),
        record(
            "a/b",
            domain="go.ex.test",
            hasRedirectRules=True,
            longUrl="https://ex.test/?a=1",
            meta={
                "validSince": "2026-01-01T00:00:00+01:00",
                "validUntil": "2026-12-31T00:00:00+01:00",
                "maxVisits": 100,
            },
        ),
        # Older ones tell `visitsCount` alone.
        {
            **record("closed", forwardQuery=False, longUrl="https://ex.test/?a=1", visitsCount=0),
            "visitsSummary": None,
        },
        record("app", longUrl="whatsapp://send"),
    ]
    first, *rest = read_api("shlink", TableApi(Instance(links, visits=4, arrivals=0)))
    expected = SourceLink(
        id="/abc12",
        row=1,
        domain_name=None,
        path="abc12",
        destination_url="https://ex.test/",
        internal_name="T",
        tags=("a",),
        created_at=CREATED,
        clicks=4,
        losses=(Loss("crawlable", "no robots.txt names links"),),
    )
    assert first == expected
    assert rest[:4] == [
        SourceVisit(
            link_id="/abc12",
            at=AT + timedelta(seconds=number // 2),
            number=1 - number % 2,
            referrer=f"https://t.test/{number}",
            user_agent="Mozilla/5.0",
            country="DE" if number % 2 else "",
            is_bot=number == 3,
        )
        for number in reversed(range(4))
    ]
    left_out = (
        "left out (no condition here is like geolocation-city-name): https://ex.test/b"
        " if geolocation-city-name Berlin"
    )
    assert rest[4:] == [
        SourceLink(
            id="go.ex.test/a/b",
            row=2,
            domain_name="go.ex.test",
            path="a/b",
            destination_url="https://ex.test/?a=1",
            tags=("a",),
            created_at=CREATED,
            starts_at=datetime(2025, 12, 31, 23, tzinfo=UTC),
            expires_at=datetime(2026, 12, 30, 23, tzinfo=UTC),
            max_clicks=100,
            clicks=0,
            rules=(rule("device ios", "https://ex.test/i", os=["iOS"]),),
            losses=(Loss("redirectRules", left_out), QUERY),
        ),
        SourceLink(
            id="/closed",
            row=3,
            domain_name=None,
            path="closed",
            destination_url="https://ex.test/?a=1",
            tags=("a",),
            created_at=CREATED,
            pass_query=False,
            clicks=0,
        ),
        RefusedRow(
            row=4,
            field="longUrl",
            reason="must be an absolute http or https URL",
            text="app, https://s.test/app, whatsapp://send, 2025-05-01T08:00:00+02:00",
        ),
    ]


def test_visits_that_arrive_while_others_are_read_move_no_page() -> None:
    links = [record("abc12", visitsSummary={"total": 1100})]
    still, moving = (
        visits_of(read_api("shlink", TableApi(Instance(links, visits=1100, arrivals=arrivals))))
        for arrivals in (0, 5)
    )
    assert len(still) == 1100
    assert moving == still
    assert len({(one.at, one.number) for one in moving}) == len(moving)


def csv_visit(link: str, number: int, agent: str, **more: Any) -> SourceVisit:
    return SourceVisit(link_id=f"s.test/{link}", at=AT, number=number, user_agent=agent, **more)


def test_the_csvs_of_visits_tell_the_link_by_the_visited_url() -> None:
    found = read_sample("shlink-visits.csv")
    assert visits_of(found) == [
        csv_visit("abc12", 0, "Mozilla/5.0 (newest)", country="NL", referrer="t.test"),
        csv_visit("abc12", 1, "Mozilla/5.0 (older)", is_bot=True),
        csv_visit("käse", 0, "Mozilla/5.0 (other)", country="CI"),
    ]
    refused = [one for one in found if isinstance(one, RefusedRow)]
    assert [(one.row, one.field, one.reason) for one in refused] == [
        (5, "visitedUrl", "is that of no link"),
        (6, "visitedUrl", "is that of no link"),
    ]
    assert read_sample("shlink-cli-visits.csv") == [
        csv_visit("abc12", 0, "curl/8", country="TR", is_bot=True),
        SourceVisit(
            link_id="s.test/abc12",
            at=datetime(2025, 5, 1, 8, tzinfo=UTC),
            number=0,
            referrer="https://t.test/x",
            user_agent="curl/8",
            country="DE",
        ),
    ]


def test_links_of_a_second_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fields, "MAX_LINKS_OF_A_SECOND", 1)
    with pytest.raises(BadRequest, match="date: more than 1 links in one second"):
        read_sample("shlink-visits.csv")


def test_both_csvs_of_links_are_read() -> None:
    exported, refused = read_sample("shlink-export.csv")
    assert exported == SourceLink(
        id="s.test/abc12",
        row=2,
        domain_name="s.test",
        path="abc12",
        destination_url="https://ex.test/?a",
        internal_name='A "title"',
        tags=("a", "b, c"),
        created_at=CREATED,
        clicks=7,
        losses=(QUERY,),
    )
    assert isinstance(refused, RefusedRow) and refused.field == "destination_url"
    assert read_sample("shlink-import.csv") == [
        SourceLink(
            id="/123",
            row=2,
            domain_name=None,
            path="123",
            destination_url="https://ex.test/1",
            tags=("foo", "bar", "baz"),
        ),
        SourceLink(
            id="s.test/124",
            row=3,
            domain_name="s.test",
            path="124",
            destination_url="https://ex.test/2",
            internal_name="Two",
            tags=("foo", "bar"),
        ),
        RefusedRow(
            row=4,
            field="path",
            reason="a path or a short URL is required",
            text="https://ex.test/3",
        ),
    ]
