"""After a failure no request waits for the store, for a moment only.

Our own overload is no failure of the store.
"""

import asyncio
import gc
import socket
import time
import weakref
from typing import Any

import pytest

from tests.clock import Clock
from tests.uncaught import uncaught_errors
from tests.waiting import PATIENCE_SECONDS
from tracker.stores.breaker import (
    OPEN_SECONDS,
    Breaker,
    Overload,
    answer_within,
    result_within,
)


def test_each_failure_opens_a_breaker_for_a_moment_and_a_success_closes_it(clock: Clock) -> None:
    breaker = Breaker(clock)
    assert not breaker.is_open
    for _ in range(2):
        breaker.record_failure()
        clock.seconds += OPEN_SECONDS * 0.9
        assert breaker.is_open
    clock.seconds += OPEN_SECONDS * 0.1
    assert not breaker.is_open
    breaker.record_failure(ValueError())
    assert breaker.is_open
    breaker.record_success()
    assert not breaker.is_open


def test_our_own_overload_does_not_open_a_breaker(clock: Clock) -> None:
    breaker = Breaker(clock)
    breaker.record_failure(Overload())
    assert not breaker.is_open


async def test_a_query_without_an_answer_in_time_is_cancelled() -> None:
    cancelled = asyncio.Event()

    async def hanging() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    with pytest.raises(TimeoutError):
        await answer_within(0.05, hanging())
    assert cancelled.is_set()


async def test_the_error_of_a_cancelled_query_is_not_reported_as_forgotten() -> None:
    async def failing() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise ConnectionError

    with uncaught_errors() as reported:
        with pytest.raises(TimeoutError):
            await answer_within(0.05, failing())
        gc.collect()
    assert not reported


@pytest.mark.parametrize(
    "within",
    [
        answer_within,
        lambda seconds, query: result_within(seconds, asyncio.ensure_future(query)),
    ],
    ids=["query", "future"],
)
async def test_an_answer_that_arrives_while_the_loop_is_blocked_is_in_time(within: Any) -> None:
    ours, others = socket.socketpair()
    with others:
        reader, writer = await asyncio.open_connection(sock=ours)
        others.send(b"answer")
        asyncio.get_running_loop().call_soon(time.sleep, 0.5)
        assert await within(0.2, reader.readexactly(6)) == b"answer"
        writer.close()


async def test_a_cancelled_caller_cancels_its_query() -> None:
    asked: asyncio.Future[asyncio.Task[Any] | None] = asyncio.get_running_loop().create_future()

    async def hanging() -> None:
        asked.set_result(asyncio.current_task())
        await asyncio.Event().wait()

    waiting = asyncio.ensure_future(answer_within(10, hanging()))
    query = await asked
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert query is not None
    assert query is not waiting
    assert query.cancelled()


async def test_a_result_that_others_set_is_kept_by_nobody() -> None:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[int] = loop.create_future()
    kept = weakref.ref(future)
    loop.call_soon(future.set_result, 1)
    gc.disable()
    try:
        assert await result_within(PATIENCE_SECONDS, future) == 1
        del future
        await asyncio.sleep(0)  # the turn that woke this task has it too
        assert kept() is None
    finally:
        gc.enable()


async def test_an_error_that_others_set_is_raised() -> None:
    future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    future.set_exception(ConnectionError())
    with pytest.raises(ConnectionError):
        await result_within(PATIENCE_SECONDS, future)


async def test_a_result_that_nobody_sets_in_time_is_not_waited_for() -> None:
    future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    with pytest.raises(TimeoutError):
        await result_within(0.05, future)
    assert future.done()
