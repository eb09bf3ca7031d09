"""Openings of shares cost few writes, and are counted exactly, by several processes too."""

import asyncio
from typing import Any

import pytest
from pymongo.errors import AutoReconnect

from tests.factories import create_share
from tests.waiting import becomes
from tracker.ids import new_id
from tracker.loops import cancel_and_wait
from tracker.service.services import Services
from tracker.sharing import opens
from tracker.sharing.opens import ShareOpens


async def opens_in(services: Services) -> int:
    return int((await row_of(services))["opens"])


async def row_of(services: Services) -> dict[str, Any]:
    row = await services.stores.mongodb["shares"].find_one({})
    assert row is not None
    return row


async def test_any_number_of_openings_is_one_write_of_a_share(services: Services) -> None:
    share, _ = await create_share(services, new_id())
    processes = [ShareOpens(services.stores.mongodb) for _ in range(2)]
    database = services.stores.mongodb.database
    await database.command("profile", 2, filter={"op": "update"})
    try:
        for one in processes:
            for _ in range(50):
                one.count(share.id)
        await asyncio.gather(*(one.store() for one in processes))
        for one in processes:
            await one.store()
        writes = await database["system.profile"].count_documents({"op": "update"})
    finally:
        await database.command("profile", 0)
        await database["system.profile"].drop()
    assert ((await row_of(services))["opens"], writes) == (100, 2)


async def test_openings_are_stored_in_the_background_and_when_the_process_stops(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    share, _ = await create_share(services, new_id())
    monkeypatch.setattr(opens, "FLUSH_SECONDS", 0.01)
    services.sharing.share_opens.count(share.id)
    storing = asyncio.ensure_future(services.sharing.share_opens.keep_storing())
    await becomes(lambda: opens_in(services), 1)
    await cancel_and_wait(storing)
    process = Services(services.settings)
    process.sharing.share_opens.count(share.id)
    await process.stop()
    await process.close()
    assert (await row_of(services))["opens"] == 2


async def test_the_last_opening_never_goes_back(services: Services) -> None:
    share, _ = await create_share(services, new_id())
    early, late = (ShareOpens(services.stores.mongodb) for _ in range(2))
    early.count(share.id)
    await asyncio.sleep(0.002)  # the clock's step is a millisecond
    late.count(share.id)
    await late.store()
    before = (await row_of(services))["last_opened_at"]
    await early.store()
    assert (await row_of(services))["last_opened_at"] == before


async def test_a_share_that_was_revoked_meanwhile_is_not_made_again(services: Services) -> None:
    services.sharing.share_opens.count(new_id())
    await services.sharing.share_opens.store()
    assert await services.stores.mongodb["shares"].count_documents({}) == 0


async def test_a_store_that_fails_does_not_stop_the_process(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_: ShareOpens) -> None:
        raise AutoReconnect

    monkeypatch.setattr(ShareOpens, "store", fail)
    process = Services(services.settings)
    await process.stop()
    await process.close()
