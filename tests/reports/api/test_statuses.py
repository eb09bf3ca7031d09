"""Pending, rejected and refunded conversions, and other currencies, in every kind of report."""

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.reports.api.statuses import with_statuses
from tests.reports.history import store_rollup
from tests.web.keyed_client import KeyedClient
from tests.web.world import World
from tracker.reports.rollups.rollup import Rollup

AT = datetime(2026, 1, 31, 2, 30, tzinfo=UTC)
DOLLARS = [{"currency": "USD", "conversions": 1, "value": 500, "payout": 50}]
FIGURES = {
    "conversions": 2,
    "value": 7,
    "payout": 4,
    "pendingConversions": 2,
    "pendingValue": 20,
    "rejectedConversions": 1,
    "refundedValue": 43,
    "otherCurrencies": DOLLARS,
}
NO_MONEY = {"value": 0, "payout": 0}
CROSSED = {"country": ["unknown", "DE", "TR"], "utm_source": ["none", "mail"]}


async def report(api: KeyedClient, account: Any, **fields: Any) -> Any:
    days = {"from": "2026-01-30", "to": "2026-01-31"}
    asked = {"accountId": str(account.id), "dateRange": days, "groupBy": "link", **fields}
    response = await api.post("/api/reports", **asked)
    assert response.status == 200, response.body
    return response.json()


def figures(of: dict[str, Any]) -> dict[str, Any]:
    return {name: of[name] for name in FIGURES if name in of}


async def test_approved_ones_count_and_the_others_are_told_beside_them(world: World) -> None:
    events = await with_statuses(world.services, world.account, AT)
    country, link_id = events[0]["country"], str(events[0]["link_id"])
    for asked in (
        {"groupBy": "link"},
        {"groupBy": "country"},
        {"groupBy": "hour_of_week"},
        {"groupBy": "utm_source"},
        {"groupBy": "event", "filters": {"link": link_id, "country": country}},
        {"groupBy": "hour", "filters": {"utm_source": "none"}},
    ):
        answer = await report(world.api, world.account, **asked)
        assert answer["currency"] == "EUR"
        assert figures(answer["totals"]) == FIGURES, asked
        assert [figures(row) for row in answer["rows"]] == [FIGURES], asked


async def test_a_changed_status_is_counted_at_once_whatever_was_cached(world: World) -> None:
    events = await with_statuses(world.services, world.account, AT)
    asked = {"groupBy": "utm_source", "filters": {"country": events[0]["country"]}}
    assert figures((await report(world.api, world.account, **asked))["totals"]) == FIGURES
    rollup, pending = Rollup(), events[1]
    approved = {name: one for name, one in pending.items() if name != "reported"}
    rollup.add_event(pending, sign=-1)
    rollup.add_event(approved)
    await world.services.stores.mongodb["events"].replace_one({"_id": pending["_id"]}, approved)
    await store_rollup(world.services, rollup, 0)
    changed = {"conversions": 3, "value": 27, "pendingConversions": 1, "pendingValue": 0}
    for group_by in ("utm_source", "link"):
        answer = await report(world.api, world.account, **asked | {"groupBy": group_by})
        assert figures(answer["totals"]) == {**FIGURES, **changed}


async def test_they_count_on_the_day_of_the_account(world: World) -> None:
    await with_statuses(world.services, world.account, AT, "America/New_York")
    for filters in ({}, {"utm_source": "none"}):
        answer = await report(world.api, world.account, groupBy="day", filters=filters)
        [row] = answer["rows"]
        assert (row["key"], figures(row)) == ("2026-01-30", FIGURES)


async def test_currencies_are_rows_and_a_filter(world: World) -> None:
    await with_statuses(world.services, world.account, AT)
    answer = await report(world.api, world.account, groupBy="currency", sort="key")
    rows = [(row["key"], row["clicks"], row["conversions"]) for row in answer["rows"]]
    assert rows == [("EUR", 0, 1), ("USD", 0, 1)]
    for name, conversions in (("eur", 1), ("usd", 1), ("units", 1), ("GBP", 0)):
        answer = await report(world.api, world.account, filters={"currency": name})
        assert answer["totals"]["conversions"] == conversions
    refused = await world.api.post(
        "/api/reports",
        accountId=str(world.account.id),
        dateRange={"from": "2026-01-30", "to": "2026-01-31"},
        groupBy="link",
        filters={"currency": "EURO"},
    )
    assert refused.status == 400
    rule = "currency: must be a currency of ISO 4217 such as EUR, or units"
    assert rule in refused.json()["error"]


async def test_bots_alone_have_what_their_clicks_brought(world: World) -> None:
    await with_statuses(world.services, world.account, AT)
    answer = await report(world.api, world.account, bots="only")
    assert (answer["rows"], figures(answer["totals"])) == ([], {"conversions": 0, **NO_MONEY})


async def test_what_a_report_has_nothing_of_is_told_only_if_it_is_chosen(world: World) -> None:
    await with_statuses(world.services, world.account, AT)
    answer = await report(world.api, world.account)
    assert not {"cost", "unknownCostClicks", "profit", "epc"} & answer["totals"].keys()
    chosen = await report(world.api, world.account, columns=["cost", "unknownCostClicks", "epc"])
    assert chosen["totals"] == {"cost": None, "unknownCostClicks": 0, "epc": None}
    compared = {"from": "2026-01-25", "to": "2026-01-25"}
    earlier = await report(world.api, world.account, dateRange=compared)
    assert "pendingConversions" not in earlier["totals"]
    days = {"from": "2026-01-30", "to": "2026-01-31"}
    answer = await report(world.api, world.account, dateRange=compared, compare=days)
    for of in (answer["totals"], *answer["rows"]):
        assert (of["pendingConversions"], of["previous"]["pendingConversions"]) == (0, 2)


async def test_files_have_a_column_of_other_currencies(world: World) -> None:
    await with_statuses(world.services, world.account, AT - timedelta(hours=2))
    days = {"from": "2026-01-30", "to": "2026-01-31"}
    asked = {"accountId": str(world.account.id), "dateRange": days, "groupBy": "link"}
    response = await world.api.post("/api/reports", **asked, format="csv")
    header, row = response.body.decode().splitlines()
    assert ",rejectedConversions,refundedValue," in header
    assert header.endswith(",otherCurrencies")
    assert '""currency"":""USD""' in row
