"""New rows: of several accounts at once, exactly, and limited."""

import asyncio
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import timedelta
from random import Random
from typing import Any
from uuid import UUID

import pytest

from tests.conversions.scene import applied
from tests.factories import make_click, make_conversion
from tests.feeds.scene import ACCOUNT, OTHER, drain_with_number, ids_of, make_clicks, schedule
from tracker.feeds import arrivals
from tracker.feeds.arrivals import TRANSACTION_NUMBERS
from tracker.feeds.page import Bookmark
from tracker.ids import new_id
from tracker.live import new_rows
from tracker.live.new_rows import NewRows, read_new
from tracker.service.services import Services
from tracker.stores.mongodb.reads import MongoReads


async def bookmark(services: Services) -> Bookmark:
    return (await read_new(services.stores.mongodb.reads, None, []))[1]


class Watch:
    """The rows of some accounts that consecutive reads return."""

    def __init__(self, services: Services, accounts: Collection[UUID], start: Bookmark) -> None:
        self._reader = services.stores.mongodb.reads
        self._accounts = accounts
        self._start = start
        self.clicks = Counter[UUID]()
        self.conversions: list[int] = []

    async def read(self) -> None:
        found, self._start = await read_new(self._reader, self._start, self._accounts)
        for account_id, one in found.items():
            self.clicks[account_id] += one.clicks
            self.conversions += [row.id for row in one.conversion_rows]


@pytest.mark.parametrize("drains", [(0, 1, 2), (7, 7, 7)])
async def test_whatever_several_drains_store_meanwhile_is_in_one_read(
    services: Services, drains: tuple[int, ...]
) -> None:
    batches = schedule(Random(1), len(drains))
    watch = Watch(services, [ACCOUNT, OTHER], await bookmark(services))
    over = asyncio.Event()

    async def drain(drain_number: int, own: list[list[Any]]) -> None:
        drain = drain_with_number(services, drain_number)
        for batch in own:
            await drain.apply(batch)

    async def keep_looking() -> None:
        while not over.is_set():
            await watch.read()
            await asyncio.sleep(0)

    looking = asyncio.create_task(keep_looking())
    await asyncio.gather(*map(drain, drains, batches))
    over.set()
    await looking
    await watch.read()
    stored = {click.id: click for own in batches for batch in own for click in batch}
    of_accounts = Counter(UUID(bytes=click.account_id) for click in stored.values())
    assert watch.clicks == {one: of_accounts[one] for one in (ACCOUNT, OTHER)}


async def test_a_conversion_lands_when_its_account_has_it_for_the_first_time(
    services: Services,
) -> None:
    clicks = [make_click(ACCOUNT) for _ in range(4)]
    own: Any = {"account_id": ACCOUNT.bytes}
    await applied(services, [make_conversion(1, clicks[0].id, **own)])
    watch = Watch(services, [ACCOUNT], await bookmark(services))
    unowned = [make_conversion(2, clicks[1].id)]
    for batch in (unowned, clicks[:2], [make_conversion(3, clicks[2].id, **own)], clicks[2:]):
        await applied(services, batch)
        await watch.read()
    await applied(services, [make_conversion(4, clicks[3].id), make_conversion(5, None, **own)])
    await watch.read()
    assert sorted(watch.conversions) == [2, 3, 4, 5]


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Yield the names of the collections that are read meanwhile."""
    read: list[str] = []
    find = MongoReads.find

    async def counting(self: MongoReads, collection: str, *of: Any, **options: Any) -> Any:
        read.append(collection)
        return await find(self, collection, *of, **options)

    with monkeypatch.context() as patched:
        patched.setattr(MongoReads, "find", counting)
        yield read


async def test_a_look_at_many_accounts_costs_few_queries_and_one_if_nothing_was_stored(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    accounts = [ACCOUNT, OTHER, *(new_id() for _ in range(98))]
    start = await bookmark(services)
    with counted(monkeypatch) as read:
        assert (await read_new(services.stores.mongodb.reads, start, accounts))[0] == {}
    assert read == [TRANSACTION_NUMBERS]
    await applied(services, [*make_clicks(ACCOUNT, 3), *make_clicks(OTHER, 3)])
    with counted(monkeypatch) as read:
        found = (await read_new(services.stores.mongodb.reads, start, accounts))[0]
    assert found.keys() == {ACCOUNT, OTHER}
    assert read == [TRANSACTION_NUMBERS, "arrivals", "clicks"]


async def test_all_new_clicks_are_counted_and_the_last_is_shown(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(new_rows, "_RANGES_PER_QUERY", 1)
    monkeypatch.setattr(new_rows, "_IDS_PER_QUERY", 7)
    monkeypatch.setattr(arrivals, "ENTRIES_PER_DOCUMENT", 10)
    start = await bookmark(services)
    clicks = make_clicks(ACCOUNT, 45)
    await applied(services, [*clicks, *make_clicks(OTHER, 5)])
    found = (await read_new(services.stores.mongodb.reads, start, [new_id(), ACCOUNT]))[0]
    assert found.keys() == {ACCOUNT}
    one: NewRows = found[ACCOUNT]
    assert (one.clicks, [row.id for row in one.click_rows]) == (45, ids_of(clicks)[-20:])


async def test_tests_are_shown_and_not_counted(services: Services) -> None:
    start = await bookmark(services)
    own: Any = {"account_id": ACCOUNT.bytes}
    conversions = [make_conversion(1, test=True, **own), make_conversion(2, **own)]
    await applied(services, [*make_clicks(ACCOUNT, 1, test=True), *conversions])
    one = (await read_new(services.stores.mongodb.reads, start, [ACCOUNT]))[0][ACCOUNT]
    assert (one.clicks, len(one.click_rows)) == (0, 1)
    assert (one.conversions, [row.id for row in one.conversion_rows]) == (1, [1, 2])


async def test_whoever_could_not_look_for_long_begins_anew(services: Services) -> None:
    start = await bookmark(services)
    await applied(services, make_clicks(ACCOUNT, 1))
    long_ago = start._replace(at=start.at - timedelta(minutes=2))
    found, end = await read_new(services.stores.mongodb.reads, long_ago, [ACCOUNT])
    assert found == {}
    assert (await read_new(services.stores.mongodb.reads, start, [ACCOUNT]))[0]
    assert not (await read_new(services.stores.mongodb.reads, end, [ACCOUNT]))[0]
