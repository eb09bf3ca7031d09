"""`POST /api/reports`: the answer, its fields and pages, and the requests that are rejected."""

from random import Random
from typing import Any
from uuid import UUID, uuid4

import pytest
from bson import Decimal128

from tests.factories import (
    create_event_config,
    create_link,
)
from tests.reports.api.traffic import DAYS, click, event
from tests.reports.history import store
from tests.web.client import Response
from tests.web.each import each_case
from tests.web.keyed_client import KeyedClient
from tests.web.world import World
from tracker.accounts.accounts import Account
from tracker.reports.answers import compared, one_report
from tracker.reports.answers.one_report import Series
from tracker.reports.joint_counts.report_run import ReportRun
from tracker.reports.periods import Interval
from tracker.reports.query import ReportQuery

MEASURES = (
    "clicks",
    "uniqueClicks",
    "botClicks",
    "conversions",
    "conversionRate",
    "value",
    "payout",
)


async def report(api: KeyedClient, account: Account, **fields: Any) -> Response:
    body = {"accountId": str(account.id), "dateRange": DAYS, "groupBy": "link", **fields}
    return await api.post("/api/reports", **body)


async def test_a_report_has_rows_totals_the_request_and_the_page(world: World) -> None:
    link, other = [await create_link(world.services, world.account.id, slug) for slug in ("a", "b")]
    await world.services.links.links.change(
        other.id, {"internal_name": "The other", "archived": True}
    )
    clicks = [
        click(world.account.id, link.id, unique=True),
        click(world.account.id, link.id),
        click(world.account.id, link.id),
        click(world.account.id, other.id, bot="crawler"),
    ]
    events = [
        event(1, clicks[0], value=Decimal128("19.990"), payout=Decimal128("1E+1")),
        event(2, {"account_id": world.account.id}, value=Decimal128("0.01")),
    ]
    await store(world.services, Random(0), clicks, events)
    response = await report(world.api, world.account)
    assert response.status == 200
    assert b'"value":19.99,"payout":10}' in response.body
    rows = [
        (str(link.id), "A link", 3, 1, 0, 1, 0.333333, 19.99, 10),
        (str(other.id), "The other", 0, 0, 1, 0, 0.0, 0, 0),
        ("unknown", "No click", 0, 0, 0, 1, 0.0, 0.01, 0),
    ]
    assert response.json() == {
        "rows": [dict(zip(("key", "name", *MEASURES), row, strict=True)) for row in rows],
        "totals": dict(zip(MEASURES, (3, 1, 1, 2, 0.333333, 20, 10), strict=True)),
        "groupBy": "link",
        "dateRange": DAYS,
        "timeZone": "UTC",
        "pagination": {"page": 1, "pageSize": 25, "totalRows": 3, "totalPages": 1},
    }


async def test_rows_have_the_keys_and_names_of_their_dimension(world: World) -> None:
    link = await create_link(world.services, world.account.id)
    tag = await world.services.links.tags.create(world.account.id, "Spring")
    await world.services.links.links.change(link.id, {"tags": [tag.id]})
    config = await create_event_config(world.services, world.account.id)
    one = click(world.account.id, link.id, device="tv", country="CI", os="iOS")
    one |= {"referrer_host": "news.example", "utm_source": "Mail"}
    unknown = dict.fromkeys(("device", "country", "browser", "os"), "unknown")
    clicks = [one, click(world.account.id, link.id, domain_name="go.example.com", **unknown)]
    events = [event(1, one, event_config_id=config.id), event(2, clicks[1])]
    await store(world.services, Random(0), clicks, events)
    shown = {
        "link": [(str(link.id), "A link")],
        "tag": [(str(tag.id), "Spring")],
        "device": [("tv", "TV"), ("unknown", "Unknown")],
        "country": [("CI", "Côte d’Ivoire"), ("unknown", "Unknown")],  # noqa: RUF001
        "browser": [("Chrome", "Chrome"), ("unknown", "Unknown")],
        "os": [("iOS", "iOS"), ("unknown", "Unknown")],
        "day": [("2026-01-31", "2026-01-31")],
        "hour": [(f"2026-01-31T{hour}:00Z", f"2026-01-31T{hour}:00Z") for hour in ("09", "10")],
        "domain": [("go.example.com", "go.example.com"), ("tracker.test", "tracker.test")],
        "event": [(str(config.id), "Purchase"), ("none", "No event configuration")],
        "week": [("2026-01-26", "2026-01-26")],
        "month": [("2026-01", "2026-01")],
        "weekday": [("6", "Saturday")],
        "hour_of_day": [("09", "09:00"), ("10", "10:00")],
        "hour_of_week": [("6T09", "Saturday 09:00"), ("6T10", "Saturday 10:00")],
        "bot": [("none", "People")],
        "referrer": [("direct", "Direct"), ("news.example", "news.example")],
        "utm_source": [("Mail", "Mail"), ("none", "None")],
    }
    for group_by, rows in shown.items():
        # The second reads clicks, if anything does.
        for filters in ({}, {"browser": ["Chrome", "unknown"], "os": ["iOS", "unknown"]}):
            answer = (
                await report(world.api, world.account, groupBy=group_by, filters=filters)
            ).json()
            assert [(row["key"], row["name"]) for row in answer["rows"]] == rows
            assert answer["totals"]["clicks"] == answer["totals"]["conversions"] == 2
            assert answer["groupBy"] == group_by


async def test_a_filter_is_one_value_or_a_list_in_any_spelling(world: World) -> None:
    link = await create_link(world.services, world.account.id)
    tags = [await world.services.links.tags.create(world.account.id, name) for name in "ab"]
    tag, other = [str(tag.id) for tag in tags]
    await world.services.links.links.change(link.id, {"tags": [tags[0].id]})
    bot = click(world.account.id, link.id, bot="crawler", country="unknown")
    await store(world.services, Random(0), [click(world.account.id, link.id), bot], [event(1, bot)])
    foreign = str((await create_link(world.services, uuid4(), "f")).id)
    for fields, clicks in (
        ({}, 1),
        ({"filters": {}}, 1),
        ({"filters": {"link": []}}, 1),
        ({"filters": {"link": str(link.id)}}, 1),
        ({"filters": {"link": [foreign, str(link.id)]}}, 1),
        ({"filters": {"link": foreign}}, 0),
        ({"filters": {"tag": [tag, other]}}, 1),
        ({"filters": {"tag": [tag, other], "tagOperator": "AND"}}, 0),
        ({"filters": {"tag": [tag, other]}, "tagOperator": "AND"}, 0),
        ({"filters": {"tag": [tag, other], "tagOperator": "OR"}, "tagOperator": "OR"}, 1),
        ({"filters": {"country": "de"}}, 1),
        ({"filters": {"browser": "chrome", "os": ["IOS", "ANDROID"]}}, 1),
        ({"filters": {"country": ["FR", "UNKNOWN"], "bots": "include"}}, 1),
        ({"filters": {"country": "de", "device": ["mobile", "tv"], "os": "Android"}}, 1),
        ({"filters": {"domain": "Tracker.TEST."}}, 1),
        ({"filters": {"domain": {"is": [], "contains": ["KER.t"]}}}, 1),
        ({"filters": {"domain": {"is_not": ["Tracker.TEST."]}}}, 0),
        ({"filters": {"country": {"is": ["de"], "is_not": ["fr"]}, "os": {}}}, 1),
        ({"filters": {"country": {"is": ["de"], "is_not": ["de"]}}}, 0),
        ({"filters": {"utm_source": {"is_not": ["x"], "contains_not": ["one"]}}}, 1),
        ({"filters": {"utm_source": {"contains": ["one"]}}}, 0),
        ({"filters": {"link": {"is_not": [foreign], "contains_not": ["$", "(.*"]}}}, 1),
        ({"filters": {"link": {"is_not": [foreign, str(link.id)]}}}, 0),
        ({"filters": {"tag": {"is_not": [tag]}}}, 0),
        ({"filters": {"tag": {"is_not": [other]}}, "tagOperator": "AND"}, 1),
        ({"filters": {"event": {"is_not": ["none"]}}}, 1),
        ({"filters": {"domain": ["bücher.example", "unknown"]}}, 0),
        ({"bots": "include"}, 2),
        ({"filters": {"bots": "only"}}, 1),
        ({"filters": {"bots": "only"}, "bots": "only"}, 1),
        ({"filters": {"browser": ["$where", "a.b", "Chrome"]}}, 1),
    ):
        response = await report(world.api, world.account, **fields)
        assert response.status == 200, response.body
        assert response.json()["totals"]["clicks"] == clicks, fields


@each_case(
    "fields, error",
    [
        ({"dateRange": {"from": "2026-02-01", "to": "2026-01-31"}}, "dateRange.from: must not be"),
        ({"dateRange": {"from": "2024-01-01", "to": "2026-01-01"}}, "dateRange.to: at most 731"),
        ({"dateRange": {"from": "2026-02-30", "to": "2026-03-01"}}, "dateRange.from: must be a"),
        ({"dateRange": {"from": "2026-01-01", "to": "2026-1-31"}}, "dateRange.to: must be a date"),
        ({"dateRange": {"from": "20260101", "to": "2026-01-31"}}, "dateRange.from: must be a date"),
        ({"dateRange": {"from": "2026-W01", "to": "2026-01-31"}}, "dateRange.from: must be a date"),
        ({"dateRange": {"from": "\u0662026-01-01", "to": "2026-01-31"}}, "dateRange.from: must be"),
        ({"dateRange": {"from": "2026-01-01\n", "to": "2026-01-31"}}, "dateRange.from: must be a"),
        ({"dateRange": {"from": 20260101, "to": "2026-01-31"}}, "dateRange.from: must be text"),
        ({"dateRange": {"from": "2026-01-01"}}, "dateRange.to: required"),
        ({"dateRange": {**DAYS, "till": "x"}}, "dateRange.till: unknown field"),
        ({"dateRange": None}, "dateRange: must be"),
        ({"groupBy": "city"}, "groupBy: must be bot or"),
        ({"groupBy": "$device"}, "groupBy: must be"),
        ({"groupBy": []}, "groupBy: must be"),
        ({"filters": {"city": "x"}}, "filters.city: unknown field"),
        ({"filters": {"$where": "x"}}, "filters.$where: unknown field"),
        ({"filters": {"link": "x"}}, "filters.link: must be a UUID"),
        ({"filters": {"tag": ["x"]}}, "filters.tag[0]: must be a UUID"),
        ({"filters": {"tag": {"$ne": None}}}, "filters.tag.$ne: unknown field"),
        ({"filters": {"tag": {"contains": ["x"]}}}, "filters.tag.contains: unknown field"),
        ({"filters": {"tag": {"is_not": ["x"]}}}, "filters.tag.is_not[0]: must be a UUID"),
        ({"filters": {"country": {"is_not": ["D1"]}}}, "filters.country: must be two letters"),
        ({"filters": {"domain": {"is_not": [""]}}}, "filters.domain: must be a hostname"),
        ({"filters": {"device": {"is_not": ["phone"]}}}, "filters.device.is_not[0]: must be bot"),
        ({"filters": {"country": {"is_not": "DE"}}}, "filters.country.is_not: must be"),
        ({"filters": {"link": {"is_not": ["x"] * 101}}}, "filters.link.is_not: must be"),
        ({"filters": {"link": {"contains": [""]}}}, "filters.link.contains[0]: must be text of"),
        (
            {"filters": {"referrer": {"contains": ["x" * 101]}}},
            "filters.referrer.contains[0]: must",
        ),
        (
            {"filters": {"domain": {"contains_not": ["x"] * 11}}},
            "filters.domain.contains_not: must",
        ),
        ({"filters": {"bots": {"is_not": ["only"]}}}, "filters.bots: must be"),
        ({"filters": {"link": [str(UUID(int=404))] * 101}}, "filters.link: must be"),
        ({"filters": {"browser": ["x"] * 101}}, "filters.browser: must be"),
        ({"filters": {"browser": {"$gt": ""}}}, "filters.browser.$gt: unknown field"),
        ({"filters": {"os": "x" * 256}}, "filters.os: must be"),
        ({"filters": {"os": None}}, "filters.os: must be"),
        ({"filters": {"device": "phone"}}, "filters.device: must be bot or desktop or mobile"),
        ({"filters": {"device": ["tv", "phone"]}}, "filters.device[1]: must be bot or"),
        ({"filters": {"country": "Germany"}}, "filters.country: must be two letters"),
        ({"filters": {"country": ["DE", "D1"]}}, "filters.country: must be two letters"),
        ({"filters": {"country": "ß"}}, "filters.country: must be two letters"),
        ({"filters": {"domain": "https://a.example"}}, "filters.domain: must be a hostname"),
        ({"filters": {"domain": ["a.example", ""]}}, "filters.domain: must be a hostname"),
        ({"filters": {"event": "purchase"}}, "filters.event: must be a UUID such as "),
        ({"filters": {"event": ["none", "None"]}}, "filters.event: must be a UUID such as "),
        ({"filters": {"bot": "robot"}}, "filters.bot: must be crawler or headless or"),
        ({"filters": {"referrer": "x" * 256}}, "filters.referrer: must be"),
        ({"filters": {"utm_source": ["x"] * 101}}, "filters.utm_source: must be"),
        ({"filters": {"utmSource": "x"}}, "filters.utmSource: unknown field"),
        ({"filters": {"tagOperator": "XOR"}}, "filters.tagOperator: must be AND or OR"),
        ({"filters": {"bots": "none"}}, "filters.bots: must be exclude or include or only"),
        ({"filters": {"bots": "only"}, "bots": "include"}, "bots: differs from filters.bots"),
        (
            {"filters": {"tagOperator": "OR"}, "tagOperator": "AND"},
            "tagOperator: differs from filters.tagOperator",
        ),
        ({"page": 0}, "page: must be a whole number"),
        ({"pageSize": 101}, "pageSize: must be a whole number"),
        ({"group": "link"}, "group: unknown field"),
    ],
)
async def test_a_broken_rule_is_named_with_its_field(
    world: World, fields: dict[str, Any], error: str
) -> None:
    response = await report(world.api, world.account, **fields)
    assert (response.status, response.error[: len(error)]) == (400, error)


@pytest.mark.parametrize(
    "days",
    [
        {"from": "2024-01-01", "to": "2025-12-31"},
        {"from": "0001-01-01", "to": "0001-01-02"},
        {"from": "9999-12-31", "to": "9999-12-31"},
    ],
    ids=str,
)
async def test_731_days_anywhere_in_the_calendar_are_accepted(
    world: World, days: dict[str, str]
) -> None:
    for filters in ({}, {"os": "iOS", "device": "tv"}):
        response = await report(world.api, world.account, dateRange=days, filters=filters)
        assert (response.status, response.json()["rows"]) == (200, [])


async def test_a_report_that_takes_too_long_is_503_with_advice(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracker.reports.limits.REPORT_SECONDS", 0)
    response = await report(world.api, world.account)
    assert response.status == 503
    assert response.error == (
        "report: not done after 0 seconds; 0% is counted and cached: try again, or ask for "
        "fewer days"
    )


async def test_the_progress_of_a_report_counts_what_it_is_compared_with(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = one_report.read_series

    async def read_until_compared(
        run: ReportRun, name: str, query: ReportQuery, interval: Interval
    ) -> Series:
        if query.last.isoformat() < DAYS["from"]:
            run._until = 0.0
        return await read(run, name, query, interval)

    monkeypatch.setattr(compared, "read_series", read_until_compared)
    response = await report(world.api, world.account, compare="previous_period", interval="day")
    assert (response.status, response.headers["X-Report-Progress"]) == (503, "0.7500")
    assert response.error.startswith("compare: not done after 30 seconds; 75% is counted")
