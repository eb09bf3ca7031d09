"""Links of an earlier release are found by their UTM values once a drain has stored these."""

import asyncio
from typing import Any

import pytest

from tests.factories import LANDING, create_link
from tests.waiting import becomes
from tracker.ids import new_id
from tracker.links import utm_backfill
from tracker.links.lists.filter import LinkFilter
from tracker.links.utm import UTM
from tracker.links.utm_backfill import UtmBackfill
from tracker.service.services import Services
from tracker.stores.mongodb.documents import run_updates

ACCOUNT = new_id()
NEWS = "https://shop.example/?utm_source=news"


async def of_an_earlier_release(services: Services, *urls: str) -> None:
    """Store links as an earlier release did: without UTM values and words."""
    for number, url in enumerate(urls):
        await create_link(services, ACCOUNT, f"s{number}", url)
    unset = dict.fromkeys((*UTM, "words"), "")
    await services.stores.mongodb["links"].update_many({}, {"$unset": unset})


async def found(services: Services, **utm: list[str]) -> list[str]:
    links, *_ = await services.links.lists.page(ACCOUNT, LinkFilter(utm=utm), 1, 100, "oldest")
    return [link.slug for link in links]


async def versions(services: Services) -> list[int]:
    rows = services.stores.mongodb["links"].find().sort("slug", 1)
    return [row["version"] async for row in rows]


async def test_a_link_is_found_once_its_values_are_filled_in(services: Services) -> None:
    await of_an_earlier_release(services, NEWS, LANDING, f"{LANDING}?utm_id=1", f"{NEWS}&b=2")
    before = await versions(services)
    assert await found(services, utm_source=["news"]) == []
    links = UtmBackfill(services.stores.mongodb)
    assert [await links.backfill(), await links.backfill()] == [3, 0]
    assert await found(services, utm_source=["news"]) == ["s0", "s3"]
    assert await found(services, utm_source=["none"]) == ["s1", "s2"]
    assert await versions(services) == before


async def test_the_words_of_values_that_an_earlier_release_has_removed_are_removed(
    services: Services,
) -> None:
    await create_link(services, ACCOUNT, "s0", NEWS)
    removed = {"destination_url": LANDING, **dict.fromkeys(UTM)}
    await services.stores.mongodb["links"].update_one({}, {"$set": removed})
    assert await UtmBackfill(services.stores.mongodb).backfill() == 1
    assert await found(services, utm_source=["news"]) == []
    assert await found(services, utm_source=["none"]) == ["s0"]


async def test_an_interrupted_run_goes_on_where_it_ended(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(utm_backfill, "_LINKS_AT_ONCE", 2)
    await of_an_earlier_release(services, *[f"{NEWS}&n={number}" for number in range(5)])
    stored: list[int] = []

    async def interrupted(*arguments: Any) -> int:
        if stored:
            raise ConnectionError
        stored.append(await run_updates(*arguments))
        return stored[0]

    monkeypatch.setattr(utm_backfill, "run_updates", interrupted)
    with pytest.raises(ConnectionError):
        await UtmBackfill(services.stores.mongodb).backfill()
    monkeypatch.setattr(utm_backfill, "run_updates", run_updates)
    assert len(await found(services, utm_source=["news"])) == 2
    assert await UtmBackfill(services.stores.mongodb).backfill() == 3
    assert len(await found(services, utm_source=["news"])) == 5


async def test_a_destination_that_changes_meanwhile_keeps_its_own_values(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    await of_an_earlier_release(services, NEWS)
    [link], *_ = await services.links.lists.page(ACCOUNT, LinkFilter(), 1, 1)

    async def late(*arguments: Any) -> int:
        changed = {"destination_url": "https://shop.example/?utm_term=new"}
        await services.links.links.change(link.id, changed)
        return await run_updates(*arguments)

    monkeypatch.setattr(utm_backfill, "run_updates", late)
    assert await UtmBackfill(services.stores.mongodb).backfill() == 0
    assert await found(services, utm_term=["new"]) == ["s0"]
    assert await found(services, utm_source=["news"]) == []


async def test_a_destination_that_an_older_process_changed_is_found_by_its_new_values(
    services: Services,
) -> None:
    for slug in ("changed", "plain", "same"):
        await create_link(services, ACCOUNT, slug, NEWS)
    for slug, url in (("changed", "https://shop.example/?utm_source=ads"), ("plain", LANDING)):
        change = {"$set": {"destination_url": url}, "$inc": {"version": 1}}
        await services.stores.mongodb["links"].update_one({"slug": slug}, change)
    links = UtmBackfill(services.stores.mongodb)
    assert [await links.backfill(), await links.backfill()] == [2, 0]
    assert await found(services, utm_source=["news"]) == ["same"]
    assert await found(services, utm_source=["ads"]) == ["changed"]
    assert await found(services, utm_source=["none"]) == ["plain"]


async def test_a_drain_fills_them_in_again_and_again_until_it_ends(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(utm_backfill, "_PAUSE_SECONDS", 0.01)
    stop = asyncio.Event()
    running = asyncio.create_task(UtmBackfill(services.stores.mongodb).run(stop))
    made: list[str] = []
    for slug in ("first", "beside"):
        link = await create_link(services, ACCOUNT, slug, NEWS)
        unset = {"$unset": dict.fromkeys(UTM, "")}
        await services.stores.mongodb["links"].update_one({"_id": link.id}, unset)
        made.append(slug)
        await becomes(lambda: found(services, utm_source=["news"]), made)
    assert not running.done()
    stop.set()
    await running
