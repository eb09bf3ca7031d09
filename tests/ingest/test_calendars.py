"""A drain never counts in calendars of before, whatever it was doing when they changed."""

import asyncio
from typing import Any

import pytest

from tests.conversions import scene
from tests.factories import make_click, make_conversion
from tests.ingest import ledger
from tracker.accounts.accounts import Account
from tracker.accounts.time_zones import AccountZone
from tracker.ids import new_id
from tracker.ingest import calendars
from tracker.ingest.calendars import AccountCalendars, CachedCalendars, renew_tokens
from tracker.ingest.drain import Drain
from tracker.service.services import Services

pytestmark = pytest.mark.redis

BERLIN = "Europe/Berlin"


async def counting_in_both(services: Services) -> Account:
    """Store an account with a change of its zone, of which no drain knows."""
    account = await services.accounts.accounts.create("Acme")
    change = {
        "id": "1",
        "zone": BERLIN,
        "requested_at": account.created_at,
        "is_counting": True,
    }
    await services.stores.mongodb["accounts"].update_one(
        {"_id": account.id}, {"$set": {"time_zone_change": change}}
    )
    return account


async def has_begun(services: Services, account: Account) -> Drain:
    """Return a drain that has counted clicks of the account before its change."""
    drain = scene.drain_of(services)
    await services.stores.mongodb["accounts"].update_one(
        {"_id": account.id}, {"$rename": {"time_zone_change": "later"}}
    )
    await drain.apply([make_click(account.id)])
    await services.stores.mongodb["accounts"].update_one(
        {"_id": account.id}, {"$rename": {"later": "time_zone_change"}}
    )
    return drain


async def in_berlin(services: Services) -> int:
    rows = services.stores.mongodb["rollups"].find({"_id.of": f"account {BERLIN}"})
    return sum([row["total"]["clicks"] async for row in rows])


class Held:
    """A drain's check of its token, which waits before or after it."""

    def __init__(self, drain: Drain) -> None:
        self.reached = asyncio.Event()
        self.go_on = asyncio.Event()
        self._check = drain._writer.calendars.check
        self._calendars: Any = drain._writer.calendars

    def before(self) -> None:
        async def check(*arguments: Any) -> int:
            await self._wait()
            return await self._check(*arguments)

        self._calendars.check = check

    def after(self) -> None:
        async def check(*arguments: Any) -> int:
            number = await self._check(*arguments)
            await self._wait()
            return number

        self._calendars.check = check

    async def _wait(self) -> None:
        self.reached.set()
        await self.go_on.wait()


async def test_a_transaction_that_has_not_read_its_token_counts_again(
    services: Services,
) -> None:
    account = await counting_in_both(services)
    drain = await has_begun(services, account)
    held = Held(drain)
    held.before()
    storing = asyncio.create_task(drain.apply([make_click(account.id)]))
    await held.reached.wait()
    await renew_tokens(services.stores.mongodb.database)
    held.go_on.set()
    await storing
    assert await in_berlin(services) == 1
    assert await services.stores.mongodb["clicks"].count_documents({}) == 2


async def test_the_tokens_wait_for_a_transaction_that_has_read_one(services: Services) -> None:
    account = await counting_in_both(services)
    drain = await has_begun(services, account)
    held = Held(drain)
    held.after()
    storing = asyncio.create_task(drain.apply([make_click(account.id)]))
    await held.reached.wait()
    renewing = asyncio.create_task(renew_tokens(services.stores.mongodb.database))
    done, _ = await asyncio.wait([renewing], timeout=0.2)
    assert not done
    held.go_on.set()
    await asyncio.gather(storing, renewing)
    assert await services.stores.mongodb["clicks"].count_documents({}) == 2
    assert await in_berlin(services) == 0
    await drain.apply([make_click(account.id)])
    assert await in_berlin(services) == 1


async def test_events_move_in_every_calendar(services: Services) -> None:
    account = await counting_in_both(services)
    drain = scene.drain_of(services)
    click = make_click(account.id)
    of_config = {"account_id": account.id.bytes, "event_config_id": new_id().bytes}
    await drain.apply([make_conversion(1, click.id, value="2", **of_config)])
    await drain.apply([click])
    await ledger.check(services)
    found = await ledger.counted(services)
    assert {key.of for key in found} == {
        *("account", "link"),
        *(f"account {BERLIN}", f"link {BERLIN}"),
    }
    changes = services.stores.mongodb["rollups"].find({"total.changes": {"$gt": 0}})
    assert {row["_id"]["of"] async for row in changes} == {key.of for key in found}


async def test_what_a_drain_knows_of_accounts_is_bounded(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calendars, "_MAX_ACCOUNTS", 3)
    account = await counting_in_both(services)
    others = [new_id().bytes for _ in range(9)]
    known = AccountCalendars(services.stores.mongodb)
    for other in others:
        found = await known.get([account.id.bytes, other], 0)
        assert list(found.calendars) == [account.id.bytes]
        assert len(known._cached) <= 5


async def test_a_drain_reads_each_account_once(services: Services) -> None:
    account = await counting_in_both(services)
    known = AccountCalendars(services.stores.mongodb)
    first = await known.get([account.id.bytes], 0)
    assert [one.zone for one in first.calendars[account.id.bytes]] == ["UTC", BERLIN]
    assert first.current()[account.id.bytes].zone == "UTC"
    nothing: Any = None
    known._database = nothing
    assert await known.get([account.id.bytes], 0) == first
    assert await known.get([], 0) == CachedCalendars(None, {})


async def test_an_account_that_is_not_stored_counts_in_utc(services: Services) -> None:
    account_id = new_id()
    assert await services.accounts.time_zones.find(account_id) == AccountZone()
    known = await AccountCalendars(services.stores.mongodb).get([account_id.bytes], 0)
    assert known.calendars == {}
