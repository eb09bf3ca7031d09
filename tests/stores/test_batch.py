"""Items that arrive during a round trip share the next, and each item gets its own result."""

import asyncio
from collections.abc import Sequence

import pytest

from tracker.errors import Unavailable
from tracker.stores.batch import Batch


class Store:
    """A store that answers a group with ten times its numbers, once `open` is set."""

    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        self.begun = asyncio.Event()
        self.open = asyncio.Event()

    async def run(self, group: list[int]) -> Sequence[int]:
        self.groups.append(group)
        self.begun.set()
        await self.open.wait()
        return [number * 10 for number in group]


async def begun(store: Store, batch: Batch[int, int]) -> asyncio.Future[int]:
    """Submit a first item and return its future, with the round trip under way."""
    future = batch.submit(0)
    await store.begun.wait()
    return future


async def test_what_arrives_during_a_round_trip_shares_the_next_in_order() -> None:
    store = Store()
    batch = Batch(store.run)
    futures = [await begun(store, batch), *(batch.submit(number) for number in range(1, 100))]
    store.open.set()
    assert await asyncio.gather(*futures) == [number * 10 for number in range(100)]
    assert store.groups == [[0], list(range(1, 100))]


async def test_a_group_has_a_limit_of_items_and_groups_keep_the_order() -> None:
    store = Store()
    store.open.set()
    batch = Batch(store.run, group_items=3)
    await asyncio.gather(*(batch.submit(number) for number in range(8)))
    assert store.groups == [[0, 1, 2], [3, 4, 5], [6, 7]]


async def test_beyond_the_bound_an_item_is_refused_and_those_that_wait_are_not() -> None:
    store = Store()
    batch = Batch(store.run, waiting_items=2)
    waiting = [await begun(store, batch), batch.submit(1), batch.submit(2)]
    with pytest.raises(Unavailable):
        batch.submit(3)
    store.open.set()
    assert await asyncio.gather(*waiting) == [0, 10, 20]
    assert await batch.submit(4) == 40


async def test_an_exception_reaches_every_waiter_of_its_group_and_no_other() -> None:
    groups: list[list[int]] = []

    async def run(group: list[int]) -> Sequence[int]:
        groups.append(group)
        if 1 in group:
            futures[0].cancel()
            raise OSError("gone")
        return group

    batch = Batch(run, group_items=2)
    futures = [batch.submit(number) for number in (0, 1, 2, 3)]
    gone, *outcomes = await asyncio.gather(*futures, return_exceptions=True)
    assert isinstance(gone, asyncio.CancelledError), "it left before the error came"
    assert [repr(outcome) for outcome in outcomes] == ["OSError('gone')", "2", "3"]
    assert groups == [[0, 1], [2, 3]]


async def test_too_few_results_are_an_error_for_all_and_the_next_group_runs() -> None:
    async def run(group: list[int]) -> Sequence[int]:
        return group[:1]

    batch = Batch(run, group_items=2)
    outcomes = await asyncio.gather(*map(batch.submit, (1, 2, 3)), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [ValueError, ValueError, int]


async def test_a_cancelled_waiter_withdraws_no_item_and_delays_no_other() -> None:
    store = Store()
    batch = Batch(store.run)
    first = await begun(store, batch)
    waiting, other = batch.submit(1), batch.submit(2)
    assert first.cancel()
    assert waiting.cancel()
    store.open.set()
    assert await other == 20
    assert store.groups == [[0], [1, 2]]


async def test_flushed_waits_for_all_and_an_idle_batch_is_flushed_at_once() -> None:
    store = Store()
    batch = Batch(store.run, group_items=1)
    await batch.flushed()
    futures = [await begun(store, batch), batch.submit(1)]
    store.open.set()
    await batch.flushed()
    assert [future.done() for future in futures] == [True, True]


async def test_a_batch_that_fell_idle_runs_again() -> None:
    store = Store()
    store.open.set()
    batch = Batch(store.run)
    for number in range(3):
        assert await batch.submit(number) == number * 10
        await batch.flushed()
    assert store.groups == [[0], [1], [2]]
