"""After a failure no request waits for the store, for a moment only.

Our own overload is no failure of the store.
"""

import asyncio
import gc
import socket
import time
from typing import Any

import pytest

from tests.clock import Clock
from tests.uncaught import uncaught_errors
from tracker.stores.breaker import OPEN_SECONDS, Breaker, Overload, answer_within


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


async def test_an_answer_that_arrives_while_the_loop_is_blocked_is_in_time() -> None:
    ours, others = socket.socketpair()
    with others:
        reader, writer = await asyncio.open_connection(sock=ours)
        others.send(b"answer")
        asyncio.get_running_loop().call_soon(time.sleep, 0.5)
        assert await answer_within(0.2, reader.readexactly(6)) == b"answer"
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
