"""The load client counts answers, measures latencies and ends."""

import asyncio
import time

import pytest

from lab import client
from lab.client import Load
from lab.traffic import LATE_SECONDS, Closed, Paced, Prepared
from tests.lab.answering import BUSY, CLICK_ID, REDIRECT, answering

GET = b"GET /c/one HTTP/1.1\r\nHost: a\r\n\r\n"
LISTED = b"HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\nhello\r\n\r\nyo"


def load(port: int, connections: int = 2, status: int = 302) -> Load:
    return Load(port, Prepared([GET], status), connections)


def count(number: int) -> Closed:
    return Closed(time.perf_counter(), 20, number)


async def test_a_load_sends_its_number_of_requests_in_order() -> None:
    heads: list[bytes] = []

    async def answer(head: bytes, writer: asyncio.StreamWriter) -> None:
        heads.append(head)
        writer.write(REDIRECT)

    requests = [GET, GET.replace(b"one", b"two")]
    traffic = Prepared(requests, 302, keep_ids=True)
    async with answering(answer) as port:
        found = await Load(port, traffic, 3).run(count(10))
    assert (found.requests, found.errors) == (10, {})
    assert sorted(heads) == sorted(requests * 5)
    assert traffic.click_ids == [CLICK_ID] * 10
    assert 0 < found.p50 <= found.p99 < found.seconds


async def test_an_unexpected_status_is_an_error_and_not_an_answer() -> None:
    answers = iter([REDIRECT, BUSY, REDIRECT, LISTED])

    async def answer(head: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(next(answers))

    async with answering(answer) as port:
        found = await load(port, connections=1).run(count(4))
    assert (found.requests, found.errors) == (2, {"status 503": 1, "status 200": 1})


async def test_an_answer_that_is_cut_off_is_an_error_and_the_load_goes_on() -> None:
    answered = 0

    async def answer(head: bytes, writer: asyncio.StreamWriter) -> None:
        nonlocal answered
        answered += 1
        if answered == 3:
            writer.write(REDIRECT[:20])
            writer.close()
        else:
            writer.write(REDIRECT)

    async with answering(answer) as port:
        found = await load(port, connections=1).run(count(6))
    assert (found.requests, found.errors) == (5, {"cut off": 1})


async def test_the_wait_for_the_last_answers_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "ANSWER_SECONDS", 0.05)

    async def answer(head: bytes, writer: asyncio.StreamWriter) -> None:
        pass

    async with answering(answer) as port:
        found = await load(port, connections=3).run(count(3))
    assert (found.requests, found.errors) == (0, {"not answered": 3})


async def test_latency_counts_from_the_time_a_request_was_due() -> None:
    # One stall of a single connection delays all requests that were due meanwhile.
    stalled = 0.2
    first = True

    async def answer(head: bytes, writer: asyncio.StreamWriter) -> None:
        nonlocal first
        if first:
            first = False
            await asyncio.sleep(stalled)
        writer.write(REDIRECT)

    async with answering(answer) as port:
        one = load(port, connections=1)
        found = await one.run(Paced(time.perf_counter(), 0.3, 100))
    assert (found.requests, found.errors) == (30, {})
    assert found.p99 > stalled * 0.9  # a loop may wake up a little early
    assert sum(latency > stalled / 2 for latency in one.latencies) >= 10


def test_a_load_that_is_too_late_gives_up_and_counts_its_unsent_requests() -> None:
    schedule = Paced(began=0.0, seconds=2.0, rate=5.0)
    assert schedule.due(1.0) == 0.0
    assert schedule.due(2.0 + LATE_SECONDS) is None
    assert schedule.is_over(2.0 + LATE_SECONDS)
    assert schedule.unsent == 9
