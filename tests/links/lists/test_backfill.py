"""Links that an earlier release has written are counted and found once a drain has run."""

import asyncio
from typing import Any

import pytest

from tests.factories import LANDING, create_link
from tests.waiting import becomes
from tracker.ids import new_id
from tracker.links.counts.counts import find_counts
from tracker.links.lists import backfill, link_lists
from tracker.links.lists.backfill import LinkListBackfill
from tracker.links.lists.filter import LinkFilter
from tracker.links.utm import UTM
from tracker.service.services import Services
from tracker.stores.mongodb.documents import run_updates

ACCOUNT, OTHER = new_id(), new_id()
NEWS = f"{LANDING}?utm_source=News+of+today"


async def of_an_earlier_release(services: Services) -> None:
    """Store links of two accounts without words, UTM values and counts."""
    await create_link(services, ACCOUNT, "first", NEWS, internal_name="Spring Sale")
    await create_link(services, ACCOUNT, "second", internal_name="Summer")
    await create_link(services, OTHER, "third", NEWS)
    unset = dict.fromkeys((*UTM, "words"), "")
    await services.stores.mongodb["links"].update_many({}, {"$unset": unset})
    await services.stores.mongodb["link_counts"].delete_many({})


async def found(services: Services, **wanted: Any) -> list[str]:
    links, *_ = await services.links.lists.page(ACCOUNT, LinkFilter(**wanted), 1, 9, "slug")
    return [link.slug for link in links]


async def test_links_are_listed_before_and_found_after(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    await of_an_earlier_release(services)
    lists = LinkListBackfill(services.stores.mongodb)
    assert await found(services) == ["first", "second"]
    assert await found(services, search="s") == []
    assert [await lists.complete(ACCOUNT) for _ in range(2)] == [3, 0]
    assert await found(services, search="SPR sa") == ["first"]
    assert await found(services, search="s") == ["first", "second"]
    assert await found(services, search="winter") == []
    assert await found(services, utm={"utm_source": ["News of today"]}) == ["first"]
    assert await found(services, utm={"utm_source": ["news of today"]}) == []
    monkeypatch.setattr(link_lists, "COUNTED_LINKS", 0)  # by the stored values
    assert await found(services, utm={"utm_source": ["News of today"]}) == ["first"]
    assert await lists.complete(OTHER) == 2


async def test_a_link_that_1_0_0_has_changed_is_found_by_its_new_words(
    services: Services,
) -> None:
    await of_an_earlier_release(services)
    lists = LinkListBackfill(services.stores.mongodb)
    await lists.complete(ACCOUNT)
    new = {"internal_name": "Winter", "destination_url": LANDING}
    change = {"$set": new, "$inc": {"version": 1}}
    await services.stores.mongodb["links"].update_one({"slug": "first"}, change)
    assert await lists.complete(ACCOUNT) == 1
    assert await found(services, search="winter") == ["first"]
    assert await found(services, search="spring") == []
    assert await found(services, utm={"utm_source": ["none"]}) == ["first", "second"]


async def test_a_link_that_changes_meanwhile_keeps_its_own_words(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    await of_an_earlier_release(services)

    async def late(*arguments: Any) -> int:
        links, *_ = await services.links.lists.page(ACCOUNT, LinkFilter(slug="first"), 1, 1)
        await services.links.links.change(links[0].id, {"internal_name": "Winter"})
        return await run_updates(*arguments)

    monkeypatch.setattr(backfill, "run_updates", late)
    await LinkListBackfill(services.stores.mongodb).complete(ACCOUNT)
    assert await found(services, search="winter") == ["first"]
    assert await found(services, search="spring") == []


async def test_a_drain_completes_all_accounts_and_waits_for_its_end(services: Services) -> None:
    await of_an_earlier_release(services)
    lists, stop = LinkListBackfill(services.stores.mongodb), asyncio.Event()
    running = asyncio.create_task(lists.run(stop))
    await becomes(lists.counts.unfinished, [])
    counts = await find_counts(services.stores.mongodb.reads, ACCOUNT)
    assert counts is not None
    assert counts[None].active == 2
    assert not running.done()
    stop.set()
    await running
