"""`last_click_at`: written from a drain's memory, and from stored clicks after a kill."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
from pymongo.errors import AutoReconnect

from tests.conversions import scene
from tests.factories import AT_MS, create_link, make_click
from tests.links.api.short_links import stored
from tests.stores.mongodb.profiler import profiled
from tests.waiting import eventually
from tests.web.world import World
from tracker.access.principal import Actor
from tracker.clicks.click import Click
from tracker.clock import iso, moment
from tracker.ids import new_id
from tracker.links.link import Link
from tracker.links.lists import last_clicks
from tracker.links.lists.last_clicks import LastClicks
from tracker.loops import Loops
from tracker.service import background
from tracker.service.services import Services


def click(link: Link, at: int = 0, **fields: Any) -> Click:
    return make_click(link.account_id, link_id=link.id.bytes, at=AT_MS + at, **fields)


async def last_click(services: Services, link: Link) -> datetime | None:
    return (await stored(services, link.id)).get("last_click_at")


async def test_a_link_has_the_newest_click_of_a_person_and_is_otherwise_as_it_was(
    world: World,
) -> None:
    link = await create_link(world.services, world.account.id)
    before = await stored(world.services, link.id)
    assert "last_click_at" not in before
    drain = scene.drain_of(world.services)
    for batch, expected in (
        ([click(link, 9, user_agent="curl/8.0"), click(link, 9, test=True)], None),
        ([click(link, 2), click(link, 5), click(link, 3)], moment(AT_MS + 5)),
        ([click(link, 4)], moment(AT_MS + 5)),
        ([click(link, 6), click(link, 9, test=True)], moment(AT_MS + 6)),
    ):
        await drain.apply(batch)
        await drain.last_clicks.store()
        assert await last_click(world.services, link) == expected
    after = await stored(world.services, link.id)
    assert after.pop("last_click_at") is not None
    assert after == before
    changed = await world.services.links.links.change(link.id, {"notes": "kept"})
    assert changed.last_click_at == moment(AT_MS + 6)
    shown = (await world.api.get(f"/api/short-links/{link.id}")).json()
    assert shown["last_click_at"] == iso(moment(AT_MS + 6))
    assert (await stored(world.services, link.id))["last_click_at"] == moment(AT_MS + 6)


async def test_a_click_between_a_change_and_its_answer_is_not_in_the_history(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = await create_link(world.services, world.account.id)
    change = world.services.links.links.change

    async def clicked_meanwhile(link_id: UUID, fields: Any, actor: Actor) -> Link:
        clicked = {"$set": {"last_click_at": moment(AT_MS)}}
        await world.services.stores.mongodb["links"].update_one({"_id": link_id}, clicked)
        return await change(link_id, fields, actor)

    monkeypatch.setattr(world.services.links.links, "change", clicked_meanwhile)
    assert (await world.api.patch(f"/api/short-links/{link.id}", notes="new")).status == 200
    [entry], _ = await world.services.access.audit.page(world.account.id, 1, 1)
    assert list(entry.changes) == ["notes"]


async def test_links_are_written_together_and_once_whatever_their_clicks(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(last_clicks, "_LINKS_PER_COMMAND", 2)
    account = new_id()
    links = [await create_link(services, account, None) for _ in range(3)]
    drain = scene.drain_of(services)
    for at in range(3):
        await drain.apply([click(one, at) for one in links for _ in range(5)])
    async with profiled(services.stores.mongodb.database) as rows:
        await drain.last_clicks.store()
        await drain.last_clicks.store()
    assert len([one for one in rows if one["ns"].endswith(".links")]) == 3
    assert {await last_click(services, one) for one in links} == {moment(AT_MS + 2)}


async def test_memory_is_bounded_because_a_batch_waits_for_the_write(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(last_clicks, "MAX_LINKS", 2)
    account = new_id()
    links = [await create_link(services, account, None) for _ in range(2)]
    drain = scene.drain_of(services)
    for link, expected in zip(links, (None, moment(AT_MS)), strict=True):
        await drain.apply([click(link)])
        assert await last_click(services, links[0]) == expected
    assert drain.last_clicks._newest == {}


async def test_what_mongodb_does_not_take_waits_for_the_next_write(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lost(*_: object) -> int:
        raise AutoReconnect("lost")

    link = await create_link(services, new_id())
    drain = scene.drain_of(services)
    await drain.apply([click(link)])
    with monkeypatch.context() as patched:
        patched.setattr(last_clicks, "run_updates", lost)
        with pytest.raises(AutoReconnect):
            await drain.last_clicks.store()
    await drain.last_clicks.store()
    assert await last_click(services, link) == moment(AT_MS)


async def test_after_a_kill_the_next_drain_reads_the_newest_clicks_again(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = new_id()
    links = [await create_link(services, account, None) for _ in range(3)]
    for link in links:
        clicks = [click(link, 3), click(link, 7), click(link, 9, test=True)]
        await scene.applied(services, [*clicks, click(link, 9, user_agent="curl/8.0")])
    monkeypatch.setattr(last_clicks, "_MISSED_CLICKS", 8)
    repaired = LastClicks(services.stores.mongodb)
    await repaired.catch_up()
    await repaired.store()
    expected = [None, moment(AT_MS + 7), moment(AT_MS + 7)]
    assert [await last_click(services, one) for one in links] == expected


@asynccontextmanager
async def draining(services: Services) -> AsyncIterator[None]:
    services.loops = Loops()
    async with background.draining(services):
        yield


async def test_a_drain_that_stops_writes_what_it_has_and_one_that_starts_reads_again(
    services: Services, indexed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    services.prepared.set()
    links = [await create_link(services, new_id(), None) for _ in range(2)]
    clicks = services.stores.mongodb["clicks"]
    await scene.applied(services, [click(links[0])])  # by a drain that is gone
    async with draining(services):
        await services.journal.journal.append(click(links[1]))
        await eventually(lambda: clicks.count_documents({"link_id": links[1].id}))
    assert [await last_click(services, one) for one in links] == [moment(AT_MS)] * 2
