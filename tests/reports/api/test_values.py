"""`GET /api/reports/values`: the values of a dimension that match a text."""

from datetime import UTC, datetime, timedelta
from random import Random
from urllib.parse import urlencode

from tests.factories import create_link, make_click_document
from tests.reports.history import store
from tests.web.client import Client, Response
from tests.web.each import each_case
from tests.web.keyed_client import KeyedClient
from tests.web.reported import Reported, days, reported
from tests.web.world import World
from tracker.reports.dimensions import FILTER_NAMES
from tracker.service.services import Services


async def values(api: KeyedClient, account_id: object, **fields: object) -> Response:
    query = urlencode({"accountId": str(account_id), "dimension": "country", **fields})
    return await api.get(f"/api/reports/values?{query}")


async def of_history(scene: Reported, **fields: object) -> Response:
    return await values(scene.api, scene.history.account_id, **days(0, 3), **fields)


async def test_values_are_the_rows_of_a_report_that_match(
    services: Services, client: Client
) -> None:
    scene = await reported(services, client)
    for dimension, search in (
        ("link", ""),
        ("utm_source", "ÜNÏ"),
        ("referrer", "dir"),
        ("event", "lead"),
        ("tag", ""),
        ("country", "GER"),
        ("browser", "o"),
        ("domain", "example"),
        ("os", "no such"),
    ):
        report = await scene.report(groupBy=dimension, search=search)
        response = await of_history(scene, dimension=dimension, search=search)
        assert response.json() == {
            "rows": [
                {name: row[name] for name in ("key", "name", "clicks")}
                for row in report["rows"]
                if (dimension, row["key"]) != ("link", "unknown")
            ],
            "dimension": dimension,
            "dateRange": days(0, 3),
            "timeZone": "UTC",
        }
    two = (await of_history(scene, dimension="link", limit=2)).json()
    assert len(two["rows"]) == 2


async def test_a_value_is_what_the_filter_takes(services: Services, client: Client) -> None:
    scene = await reported(services, client)
    for dimension in FILTER_NAMES:
        for row in (await of_history(scene, dimension=dimension)).json()["rows"]:
            filters = {dimension: row["key"]}
            if dimension == "bot":
                filters["bots"] = "include"
            found = await scene.report(groupBy="day", filters=filters)
            assert found["totals"]["clicks"] == row["clicks"], (dimension, row)


async def test_without_days_the_last_90_are_searched(world: World) -> None:
    link = await create_link(world.services, world.account.id)
    now = datetime.now(UTC)
    clicks = [
        make_click_document(
            account_id=world.account.id, link_id=link.id, at=now - timedelta(ago), country=country
        )
        for ago, country in ((0, "DE"), (89, "FR"), (90, "TR"))
    ]
    await store(world.services, Random(0), clicks, [])
    answer = (await values(world.api, world.account.id)).json()
    assert {row["key"] for row in answer["rows"]} == {"DE", "FR"}
    first = (now - timedelta(90)).date().isoformat()
    answer = (await values(world.api, world.account.id, **{"from": first})).json()
    assert {row["key"] for row in answer["rows"]} == {"DE", "FR", "TR"}
    answer = (await values(world.api, world.account.id, to=first)).json()
    assert [row["key"] for row in answer["rows"]] == ["TR"]
    assert answer["dateRange"]["to"] == first
    answer = (await values(world.api, world.account.id, to="0001-01-02")).json()
    assert answer["dateRange"] == {"from": "0001-01-01", "to": "0001-01-02"}


@each_case(
    "fields, error",
    [
        ({"dimension": "day"}, "dimension: must be bot or browser or country or"),
        ({"dimension": "$where"}, "dimension: must be"),
        ({"limit": 0}, "limit: must be a whole number"),
        ({"limit": 101}, "limit: must be a whole number"),
        ({"search": "x" * 256}, "search: must be"),
        ({"from": "2026-02-30"}, "from: must be a date"),
        ({"to": "today"}, "to: must be a date"),
        ({"from": "9999-01-01"}, "from: must not be after to"),
        ({"from": "2026-01-02", "to": "2026-01-01"}, "from: must not be after to"),
        ({"from": "2024-01-01", "to": "2026-01-01"}, "to: at most 731 days"),
    ],
)
async def test_a_broken_rule_is_named_with_its_parameter(
    world: World, fields: dict[str, object], error: str
) -> None:
    response = await values(world.api, world.account.id, **fields)
    assert (response.status, response.error[: len(error)]) == (400, error)
    missing = await world.api.get(f"/api/reports/values?accountId={world.account.id}")
    assert (missing.status, missing.error) == (400, "dimension: required")
