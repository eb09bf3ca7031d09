"""`GET /api/short-links/figures`: links in the order of a figure, those without clicks too."""

import itertools
from random import Random
from typing import Any
from urllib.parse import urlencode

import pytest
from bson import Decimal128

from tests.factories import create_link
from tests.reports.api.traffic import DAYS, click, event
from tests.reports.history import store
from tests.web.client import Client
from tests.web.each import each_case
from tests.web.keyed_client import KeyedClient
from tests.web.reported import days, reported
from tests.web.world import World
from tracker.reports.api import link_figures
from tracker.service.services import Services

COLUMNS = ("clicks", "conversions", "value", "cost", "profit")


async def figures(world: World, **fields: object) -> Any:
    query = urlencode({"accountId": world.account.id, **DAYS, **fields}, doseq=True)
    answer = await world.api.get(f"/api/short-links/figures?{query}")
    assert answer.status == 200, answer.body
    return answer.json()


async def test_figures_are_those_of_the_report_by_link(services: Services, client: Client) -> None:
    scene = await reported(services, client)
    report = await scene.report(groupBy="link", sort="key", columns=list(COLUMNS))
    expected = {row["key"]: row for row in report["rows"]}
    account = {"accountId": scene.history.account_id, **days(0, 3), "pageSize": 100}
    for name, minus in itertools.product(COLUMNS, ("", "-")):
        query = urlencode({**account, "sort": f"{minus}{name}"})
        rows = (await scene.api.get(f"/api/short-links/figures?{query}")).json()["rows"]
        assert {row["link"]["id"] for row in rows} <= expected.keys()
        assert len(rows) > 2
        for row in rows:
            of_report = expected[row["link"]["id"]]
            assert row["figures"] == {one: _json(of_report[one]) for one in COLUMNS}
        known = [row["figures"][name] for row in rows if row["figures"][name] is not None]
        assert known == sorted(known, reverse=minus == "-")
        assert None not in [row["figures"][name] for row in rows[: len(known)]]


def _json(value: Any) -> Any:
    return value if value is None or isinstance(value, int) else float(value)


async def test_all_filters_of_the_list_apply_and_links_without_clicks_are_there(
    world: World,
) -> None:
    services, account = world.services, world.account
    tag = await services.links.tags.create(account.id, "Spring")
    links = [
        await create_link(
            services,
            account.id,
            f"s{number}",
            f"https://shop.example/?utm_source={'a' if number % 2 else 'b'}",
            internal_name=f"Word{number % 3} link",
            tags=[tag.id] if number < 4 else [],
            active=number != 3,
        )
        for number in range(8)
    ]
    await services.links.links.change(links[7].id, {"archived": True})
    other = await create_link(services, world.other_account.id, "theirs")
    clicks = [
        click(account.id, link.id) for count, link in enumerate(links) for _ in range(count % 5)
    ]
    sales = [event(1, clicks[0], value=Decimal128("10"), payout=Decimal128("4"))]
    await store(services, Random(0), [*clicks, click(other.account_id, other.id)], sales)

    async def slugs(**fields: object) -> list[str]:
        return [row["link"]["slug"] for row in (await figures(world, **fields))["rows"]]

    assert await slugs() == ["s4", "s3", "s2", "s1", "s6", "s0", "s5"]
    assert (await slugs(sort="clicks"))[:2] == ["s0", "s5"]
    assert (await slugs(sort="-value"))[0] == "s1"
    assert await slugs(selectedTags=str(tag.id)) == ["s3", "s2", "s1", "s0"]
    assert await slugs(active="false") == ["s3"]
    assert await slugs(archived="true") == ["s7"]
    assert await slugs(search="word1") == ["s4", "s1"]
    assert await slugs(utm_source="a") == ["s3", "s1", "s5"]
    assert await slugs(slug="s5") == ["s5"]
    page = await figures(world, pageSize=3, page=3)
    assert [row["link"]["slug"] for row in page["rows"]] == ["s5"]
    assert page["pagination"] == {"page": 3, "pageSize": 3, "totalRows": 7, "totalPages": 3}
    assert page["rows"][0]["figures"] == {
        "clicks": 0,
        "conversions": 0,
        "value": 0,
        "cost": None,
        "profit": None,
    }
    assert page["dateRange"] == DAYS


@each_case(
    "fields, error",
    [
        ({"sort": "roi"}, "sort: must be"),
        ({"from": "2026-02-30"}, "from: must be a date"),
        ({"from": "2026-02-02", "to": "2026-02-01"}, "from: must not be after to"),
        ({"slug": "no slug"}, "slug: "),
    ],
)
async def test_bad_fields_are_named(world: World, fields: dict[str, str], error: str) -> None:
    query = urlencode({"accountId": world.account.id, **fields})
    answer = await world.api.get(f"/api/short-links/figures?{query}")
    assert answer.status == 400
    assert answer.json()["error"].startswith(error)


async def test_too_many_links_are_refused_and_links_take_their_own_scope(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for slug in ("a", "b"):
        await create_link(world.services, world.account.id, slug)
    monkeypatch.setattr(link_figures, "MAX_LINKS", 1)
    path = f"/api/short-links/figures?accountId={world.account.id}"
    answer = await world.api.get(path)
    assert answer.status == 400
    assert answer.json()["error"] == "sort: more than 1 links; add filters"
    key = await world.key(world.account, scopes=["reports:read"])
    assert (await KeyedClient(world.client, key).get(path)).status == 403
