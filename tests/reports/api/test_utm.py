"""UTM values: a click counts by its visitor's, else by those of its link at that moment."""

import csv
import io
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.conversions.scene import applied, drained
from tests.factories import create_link, make_conversion
from tests.service.ways import Sent, both_ways
from tests.waiting import eventually
from tests.web.client import Client
from tests.web.keyed_client import KeyedClient
from tests.web.link_list import slugs
from tests.web.records import journaled_clicks
from tests.web.world import World
from tracker.accounts.accounts import Account
from tracker.clock import now
from tracker.links.utm import UTM
from tracker.service.background import SERVING, running
from tracker.service.services import Services

NEWSLETTER = "https://shop.example/?a=1&utm_source=newsletter&utm_medium=e+mail#top"
NEWSLETTER_VALUES = {"utm_source": "newsletter", "utm_medium": "e mail"}


async def created(api: KeyedClient, account: Account, url: str, **fields: Any) -> dict[str, Any]:
    body = {"accountId": str(account.id), "destination_url": url, **fields}
    answer = await api.post("/api/short-links", **body)
    assert answer.status == 200, answer.body
    return dict(answer.json())


def utm_of(row: dict[str, Any]) -> dict[str, str]:
    """Return the UTM values of a row, without those that it lacks."""
    return {name: row[name] for name in UTM if row[name] is not None}


async def opened(services: Services, client: Client, *targets: str) -> None:
    """Open short links one after the other, and store their clicks."""
    for target in targets:
        assert (await client.get(f"/c/{target}")).status == 302
    await drained(services)


async def clicked(api: KeyedClient, account: Account) -> list[dict[str, str]]:
    """Return the UTM values of the stored clicks, newest first."""
    rows = (await api.get(f"/api/clicks?accountId={account.id}")).json()["rows"]
    return [utm_of(row) for row in rows]


async def reported(
    api: KeyedClient, account: Account, by: str = "utm_source", **filters: Any
) -> dict[str, tuple[int, int]]:
    """Return the clicks and conversions of a report by its keys."""
    today = now().date()  # what was counted before midnight is of yesterday
    answer = await api.post(
        "/api/reports",
        accountId=str(account.id),
        dateRange={"from": str(today - timedelta(days=1)), "to": str(today)},
        groupBy=by,
        filters={"bots": "include", **filters},
    )
    assert answer.status == 200, answer.body
    rows = answer.json()["rows"]
    return {row["key"]: (row["clicks"], row["conversions"]) for row in rows}


async def test_a_click_and_its_conversion_count_by_the_values_of_the_link(world: World) -> None:
    link = await created(world.api, world.account, NEWSLETTER, slug="abc")
    assert utm_of(link) == NEWSLETTER_VALUES
    await opened(world.services, world.client, "abc", "abc?b=2")
    assert await clicked(world.api, world.account) == [NEWSLETTER_VALUES] * 2
    [first, _] = await world.services.stores.mongodb["clicks"].find().to_list(2)
    await applied(world.services, [make_conversion(1, first["_id"].bytes, at=_now_ms())])
    assert await reported(world.api, world.account) == {"newsletter": (2, 1)}
    assert await reported(world.api, world.account, "utm_medium") == {"e mail": (2, 1)}
    assert await reported(world.api, world.account, "link", utm_source="newsletter") == {
        link["id"]: (2, 1)
    }
    assert await reported(world.api, world.account, "link", utm_source="none") == {}
    file = await world.api.get(
        f"/api/clicks?accountId={world.account.id}&format=csv&utm_medium=e+mail"
    )
    rows = list(csv.DictReader(io.StringIO(file.body.decode())))
    assert [row["utm_source"] for row in rows] == ["newsletter"] * 2


def _now_ms() -> int:
    return int(now().timestamp() * 1000)


async def test_each_value_of_the_visitor_comes_before_that_of_the_link(world: World) -> None:
    await created(world.api, world.account, NEWSLETTER, slug="abc")
    await opened(
        world.services, world.client, "abc?utm_source=partner&utm_term=x", "abc?utm_source=&b=2"
    )
    assert await clicked(world.api, world.account) == [
        NEWSLETTER_VALUES,
        {"utm_source": "partner", "utm_medium": "e mail", "utm_term": "x"},
    ]
    assert await reported(world.api, world.account) == {"partner": (1, 0), "newsletter": (1, 0)}


async def test_a_changed_destination_changes_the_clicks_that_follow_and_none_before(
    world: World,
) -> None:
    link = await created(world.api, world.account, NEWSLETTER, slug="abc")
    path = f"/api/short-links/{link['id']}"
    await opened(world.services, world.client, "abc")
    changed = await world.api.patch(
        path, destination_url="https://shop.example/?utm_source=Facebook"
    )
    assert utm_of(changed.json()) == {"utm_source": "Facebook"}
    await opened(world.services, world.client, "abc")
    plain = (await world.api.patch(path, destination_url="https://shop.example/")).json()
    assert utm_of(plain) == {}
    await opened(world.services, world.client, "abc")
    assert await clicked(world.api, world.account) == [
        {},
        {"utm_source": "Facebook"},
        NEWSLETTER_VALUES,
    ]
    assert await reported(world.api, world.account) == {
        "newsletter": (1, 0),
        "Facebook": (1, 0),
        "none": (1, 0),
    }


async def test_links_created_together_have_values_of_their_own(world: World) -> None:
    links = [
        {"destination_url": f"https://shop.example/?utm_campaign=c{number}", "slug": f"s{number}"}
        for number in range(3)
    ]
    answer = await world.api.post(
        "/api/short-links/bulk", accountId=str(world.account.id), links=links
    )
    assert [row["utm_campaign"] for row in answer.json()["rows"]] == ["c0", "c1", "c2"]
    await opened(world.services, world.client, "s0", "s1", "s2", "s2")
    expected = {"c0": (1, 0), "c1": (1, 0), "c2": (2, 0)}
    assert await reported(world.api, world.account, "utm_campaign") == expected


LISTED = {
    "plain": "https://shop.example/?a=utm_source=news",
    "news": "https://shop.example/?utm_source=news&utm_medium=mail",
    "twice": "https://shop.example/?utm_source=news&utm_source=other",
    "case": "https://shop.example/?utm_source=NEWS",
    "odd": "https://shop.example/?utm_source=n%65ws.%2B(9&utm_term=9",
    "zeros": "https://shop.example/?utm_term=09",
    "unicode": "https://shop.example/?utm_campaign=Frühling#?utm_source=news",
}


@pytest.mark.parametrize("sort", ["newest", "name"])
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ([("utm_source", "news")], "news twice"),
        ([("utm_source", "NEWS")], "case"),
        ([("utm_source", "news"), ("utm_source", "NEWS")], "news twice case"),
        ([("utm_source", "news"), ("utm_medium", "mail")], "news"),
        ([("utm_source", "news"), ("utm_medium", "none")], "twice"),
        ([("utm_source", "news.+(9")], "odd"),
        ([("utm_source", "none")], "plain zeros unicode"),
        ([("utm_source", "none"), ("utm_source", "NEWS")], "plain zeros unicode case"),
        ([("utm_term", "9")], "odd"),
        ([("utm_campaign", "Frühling")], "unicode"),
        ([("utm_source", "other")], ""),
        ([("utm_source", ".*")], ""),
        ([("utm_source", "$ne")], ""),
        ([("utm_source", "")], ""),
        ([("utm_source", "news"), ("search", "mail")], "news"),
    ],
    ids=repr,
)
async def test_links_are_found_by_exactly_their_values(
    world: World,
    query: list[tuple[str, str]],
    found: str,
    sort: str,
) -> None:
    for slug, url in LISTED.items():
        await create_link(world.services, world.account.id, slug, url)
    assert set(await slugs(world, [*query, ("sort", sort)])) == set(found.split())


async def test_a_changed_link_is_found_by_its_new_values(world: World) -> None:
    link = await create_link(world.services, world.account.id, "abc", NEWSLETTER)
    await world.services.links.links.change(
        link.id, {"destination_url": "https://x.example/?utm_term=a"}
    )
    for query, found in {
        "utm_source=newsletter": [],
        "utm_source=none": ["abc"],
        "utm_term=a": ["abc"],
    }.items():
        assert await slugs(world, query) == found
    await world.services.links.links.change(link.id, {"internal_name": "Another"})
    assert await slugs(world, "utm_term=a") == ["abc"]


async def test_a_macro_counts_as_the_visitor_got_it_unless_it_differs_with_each_click(
    world: World,
) -> None:
    pairs = {
        "utm_source": "{slug}/{os}",
        "utm_medium": "100%-{domain_name}",
        "utm_campaign": "{click_id}",
        "utm_term": "a {click_timestamp}",
    }
    url = "https://shop.example/?" + urlencode(pairs, safe="{}")
    assert utm_of(await created(world.api, world.account, url, slug="abc")) == pairs
    await opened(world.services, world.client, "abc")
    expected = {
        "utm_source": "abc/unknown",
        "utm_medium": "100%-tracker.test",
    }
    assert await clicked(world.api, world.account) == [expected]


async def test_both_ways_of_answering_record_the_values_of_the_link(
    services: Services, account: Account
) -> None:
    await create_link(services, account.id, "abc", NEWSLETTER)
    raw = b"GET /c/abc?a=2 HTTP/1.1\r\nHost: tracker.test\r\n\r\n"
    async with running(SERVING, services, services.loops), both_ways(services) as ways:
        caches = services.links.link_cache, services.links.domain_cache
        await eventually(lambda: all(cache.verified for cache in caches))
        await ways.compare([[Sent("GET", raw)]] * 3)
        assert ways.fast_path.taken["GET /c/"] > 0
    recorded = {one.link_utm for one in await journaled_clicks(services)}
    assert recorded == {"utm_source=newsletter&utm_medium=e+mail"}


async def test_a_link_of_an_earlier_release_is_shown_with_its_values(world: World) -> None:
    link = await created(world.api, world.account, NEWSLETTER, slug="abc")
    await world.services.stores.mongodb["links"].update_many({}, {"$unset": dict.fromkeys(UTM, "")})
    shown = (await world.api.get(f"/api/short-links/{link['id']}")).json()
    [listed] = (await world.api.get(f"/api/short-links?accountId={world.account.id}")).json()[
        "rows"
    ]
    assert shown == listed == link
