"""What a share shows: its days on the day of opening, its measure, and the rows for that one."""

from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

import msgspec
import orjson
import pytest

from tests.conversions.scene import applied
from tests.factories import create_link, create_share, make_click, make_conversion
from tests.sharing.api.shares import create, opened, share
from tests.web.client import Client
from tests.web.each import each_case
from tests.web.world import World
from tracker.accounts.accounts import Account
from tracker.clock import now_ms
from tracker.service.services import Services
from tracker.sharing.api import shared
from tracker.sharing.api.shared_report import SharedReport

BY_CLICKS = {"lastDays": 7, "measure": "clicks", "panels": [{"groupBy": "link", "limit": 2}]}


async def links_with_clicks(services: Services, account: Account) -> list[str]:
    """Store links with 4, 3 and 1 clicks, the last with a conversion; return their ids."""
    records: list[Any] = []
    links = []
    for name, count in (("large", 4), ("middle", 3), ("small", 1)):
        link = await create_link(services, account.id, name, internal_name=name)
        clicks = [make_click(account.id, link_id=link.id.bytes, at=now_ms()) for _ in range(count)]
        records += clicks
        links.append(str(link.id))
    event = make_conversion(1, records[-1].id, at=now_ms(), account_id=account.id.bytes, value="5")
    await applied(services, [*records, event])
    return links


async def names(client: Client, token: str, **fields: Any) -> list[str]:
    response = await opened(client, token, **fields)
    assert response.status == 200, response.body
    return [row["name"] for row in response.json()["panels"]["link"]["rows"]]


async def test_the_rows_are_the_first_by_the_measure_that_is_asked_for(world: World) -> None:
    await links_with_clicks(world.services, world.account)
    for own, first in (("clicks", "large"), ("conversionRate", "small")):
        report = BY_CLICKS | {"measure": own}
        _, token = await share(world.api, world.account, report=report, show_link_names=True)
        assert (await names(world.client, token))[0] == first
        assert (await opened(world.client, token)).json()["measure"] == own
        assert await names(world.client, token, measure="clicks") == ["large", "middle"]
        assert await names(world.client, token, measure="conversions") == ["small", "large"]


async def test_a_share_tells_what_clicks_cost_only_if_it_says_so(world: World) -> None:
    link = await create_link(world.services, world.account.id, "a", internal_name="a")
    clicks = [make_click(world.account.id, link_id=link.id.bytes, at=now_ms(), cost="2")]
    await applied(world.services, clicks)
    for chosen, cost in (({}, None), ({"costs": True}, 2)):
        report = BY_CLICKS | chosen
        _, token = await share(world.api, world.account, report=report, show_link_names=True)
        for asked in ({}, {"measure": "profit"}):
            totals = (await opened(world.client, token, **asked)).json()["totals"]
            assert totals.get("cost") == cost
            assert ("profit" in totals) == (cost is not None)


async def test_a_number_is_the_same_link_by_every_measure_and_in_filters(world: World) -> None:
    links = await links_with_clicks(world.services, world.account)
    report = BY_CLICKS | {"panels": [{"groupBy": "link", "limit": 1}]}
    _, token = await share(world.api, world.account, report=report)
    assert await names(world.client, token) == ["Link 1"]
    assert await names(world.client, token, measure="value") == ["Link 3"]
    unused = await create_link(world.services, world.account.id, "unused")
    filters = {"link": [str(unused.id), *reversed(links)]}
    _, token = await share(world.api, world.account, report=report | {"filters": filters})
    for asked in ({}, {"measure": "value"}):
        response = await opened(world.client, token, **asked)
        assert response.json()["filters"] == {"link": ["Link 4", "Link 3", "Link 2", "Link 1"]}
        assert not any(link.encode() in response.body for link in links)


def test_no_order_tells_what_is_hidden() -> None:
    panels = [{"groupBy": "link", "sort": "-cost"}, {"groupBy": "event", "sort": "profit"}]
    given = {"lastDays": 7, "measure": "roi", "panels": panels}
    for costs, orders in ((False, ["-clicks", "-clicks"]), (True, ["-roi", "roi"])):
        report = msgspec.convert({**given, "costs": costs}, SharedReport)
        shown = report.overview(UUID(int=0), date(2026, 11, 24))
        assert [panel.sort for panel in shown.panels] == orders


def test_rows_by_name_or_key_stay_and_events_and_bots_have_measures_of_their_own() -> None:
    panels = [
        {"groupBy": "link", "sort": "name"},
        {"groupBy": "hour_of_week", "sort": "key"},
        {"groupBy": "country", "sort": "value"},
        {"groupBy": "event"},
        {"groupBy": "bot"},
    ]
    report = msgspec.convert({"lastDays": 7, "panels": panels}, SharedReport)
    by_visitors = report.overview(UUID(int=0), date(2026, 11, 24), "uniqueClicks")
    assert [panel.sort for panel in by_visitors.panels] == [
        *("name", "key", "uniqueClicks", "-conversions", "-botClicks")
    ]
    by_payout = report.overview(UUID(int=0), date(2026, 11, 24), "payout")
    assert [panel.sort for panel in by_payout.panels] == [
        *("name", "key", "payout", "-payout", "-botClicks")
    ]


async def test_a_share_without_names_shows_no_text_of_them_in_its_filters(world: World) -> None:
    [large, *_] = await links_with_clicks(world.services, world.account)
    conditions = {
        "link": {"contains": ["mid", "SMALL", "larg"], "is_not": [large]},
        "utm_source": {"contains_not": ["face"]},
        "country": {"is_not": ["fr"]},
    }
    for named, shown, link in (
        (True, ["middle", "small"], {"is_not": ["large"], "contains": ["mid", "SMALL", "larg"]}),
        (False, ["Link 1", "Link 2"], {"is_not": ["Link 3"], "contains": ["…"]}),
    ):
        report = BY_CLICKS | {"filters": conditions}
        _, token = await share(world.api, world.account, report=report, show_link_names=named)
        assert await names(world.client, token) == shown
        answer = (await opened(world.client, token)).json()
        others = {"utm_source": {"contains_not": ["face"]}, "country": {"is_not": ["France"]}}
        assert answer["filters"] == {"link": link, **others}


async def test_a_share_of_an_earlier_release_opens_as_it_did(world: World) -> None:
    await links_with_clicks(world.services, world.account)
    stored = (
        '{"lastDays":7,"filters":{"utm_source":["none"],"browser":[]},'
        '"panels":[{"groupBy":"link","limit":1,"sort":"-value"}]}'
    )
    _, token = await create_share(
        world.services, world.account.id, "Old", stored, show_link_names=True
    )
    await world.services.stores.mongodb["shares"].update_many({}, {"$unset": {"revoked_at": 1}})
    assert await names(world.client, token) == ["small"]
    answer = (await opened(world.client, token)).json()
    assert "measure" not in answer
    assert "shown" not in answer
    assert await names(world.client, token, measure="clicks") == ["large"]
    [listed] = (await world.api.get(f"/api/shares?accountId={world.account.id}")).json()["rows"]
    assert (listed["revoked_at"], listed["report"]) == (None, orjson.loads(stored))


@pytest.mark.parametrize(
    ("days", "opened_at", "shown"),
    [
        # There it is Monday, two hours old.
        ({"period": "last_week"}, datetime(2026, 11, 22, 12, tzinfo=UTC), "2026-11-16/2026-11-22"),
        ({"period": "last_week"}, datetime(2026, 11, 22, 9, tzinfo=UTC), "2026-11-09/2026-11-15"),
        ({"period": "yesterday"}, datetime(2026, 11, 22, 12, tzinfo=UTC), "2026-11-22/2026-11-22"),
        ({"period": "month"}, datetime(2026, 11, 30, 12, tzinfo=UTC), "2026-12-01/2026-12-01"),
        ({"lastDays": 2}, datetime(2026, 11, 30, 12, tzinfo=UTC), "2026-11-30/2026-12-01"),
        (
            {"lastDays": 2, "untilYesterday": True},
            datetime(2026, 11, 30, 12, tzinfo=UTC),
            "2026-11-29/2026-11-30",
        ),
        (
            {"dateRange": {"from": "2026-01-01", "to": "2026-01-31"}},
            datetime(2026, 11, 30, 12, tzinfo=UTC),
            "2026-01-01/2026-01-31",
        ),
    ],
)
async def test_days_roll_with_each_opening_in_the_time_zone_of_the_account(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    days: dict[str, Any],
    opened_at: datetime,
    shown: str,
) -> None:
    zone = {"$set": {"time_zone": "Pacific/Kiritimati"}}
    await world.services.stores.mongodb["accounts"].update_one({"_id": world.account.id}, zone)
    _, token = await share(world.api, world.account, report=days)
    monkeypatch.setattr(shared, "now", lambda: opened_at)
    found = (await opened(world.client, token)).json()["dateRange"]
    assert f"{found['from']}/{found['to']}" == shown


async def test_a_revoked_share_is_listed_if_wanted_and_leaves_room_for_another(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tracker.sharing.shares.MAX_OF_ACCOUNT", 1)
    share_id, token = await share(world.api, world.account)
    assert (await world.api.delete(f"/api/shares/{share_id}")).status == 200
    assert (await opened(world.client, token)).status == 404
    assert (await world.api.delete(f"/api/shares/{share_id}")).status == 404
    list_of = f"/api/shares?accountId={world.account.id}"
    assert (await world.api.get(list_of)).json()["rows"] == []
    [revoked] = (await world.api.get(f"{list_of}&revoked=true")).json()["rows"]
    stored = await world.services.stores.mongodb["shares"].find_one({"_id": UUID(share_id)})
    assert stored is not None
    assert revoked["revoked_at"] is not None
    await share(world.api, world.account)
    indexes = await world.services.stores.mongodb["shares"].index_information()
    assert [
        one["expireAfterSeconds"] for one in indexes.values() if "revoked_at" in dict(one["key"])
    ] == [2_592_000]


async def test_a_share_shows_own_parameters_while_its_account_has_them(world: World) -> None:
    accounts = world.services.accounts.accounts
    await accounts.set_parameters(world.account.id, ["sub1", "place"])
    queries = ("sub1=red&place=top", "sub1=blue&place=top", "sub1=red")
    clicks = [make_click(world.account.id, at=now_ms(), query=query) for query in queries]
    await applied(world.services, clicks)
    report = {
        "lastDays": 7,
        "panels": [{"groupBy": "parameter:sub1"}],
        "filters": {"parameter:place": "top"},
        "shown": ["parameter:sub1"],
    }
    _, token = await share(world.api, world.account, report=report)
    found = (await opened(world.client, token)).json()
    rows = found["panels"]["parameter:sub1"]["rows"]
    assert [(row["key"], row["clicks"]) for row in rows] == [("blue", 1), ("red", 1)]
    assert (found["filters"], found["shown"]) == ({"parameter:place": ["top"]}, report["shown"])
    [listed] = (await world.api.get(f"/api/shares?accountId={world.account.id}")).json()["rows"]
    assert listed["report"]["filters"]["parameter:place"] == ["top"]
    for left, gone in (
        ("sub1", "filters.parameter:place: the account has no parameter place"),
        ("place", "panels[0].groupBy: the account has no parameter sub1"),
    ):
        await accounts.set_parameters(world.account.id, [left])
        refused = await opened(world.client, token)
        assert (refused.status, refused.error) == (400, gone)


@each_case(
    "report, message",
    [
        (
            {"panels": [{"groupBy": "link"}, {"groupBy": "parameter:sub1"}]},
            "panels[1].groupBy: the account has no parameter sub1",
        ),
        (
            {"filters": {"parameter:sub1": "red"}},
            "filters.parameter:sub1: the account has no parameter sub1",
        ),
        ({"shown": ["parameter:sub1"]}, "shown[0]: panels has no parameter:sub1"),
        ({"panels": [{"groupBy": "day"}], "shown": ["day"]}, "shown[0]: must be "),
    ],
)
async def test_a_share_by_a_parameter_that_the_account_does_not_have_is_refused(
    world: World, report: dict[str, Any], message: str
) -> None:
    response = await create(world.api, world.account, report={"lastDays": 7, **report})
    assert (response.status, message in response.error) == (400, True), response.error
