"""API requests that arrive together start one after another, with visitors between them."""

import asyncio
from itertools import pairwise
from typing import Final

from tracker.limits.pacing import LONG_ITERATION_SECONDS, MAX_WAIT_SECONDS, Pacing

MANY: Final = 20


class Requests:
    """API requests, with a clock that advances by `seconds` in each iteration of the loop."""

    def __init__(self, seconds: float) -> None:
        self._now = 0.0
        self._seconds = seconds
        self._pacing = Pacing(lambda: self._now)
        self._iteration = 0
        self.begun: dict[int, int] = {}

    async def _request(self, number: int) -> None:
        await self._pacing.wait_turn()
        self.begun[number] = self._iteration

    async def come(self, number: int, given_up: int | None = None) -> None:
        """Send `number` requests at once; return when all but the cancelled one have started."""
        requests = [asyncio.create_task(self._request(one)) for one in range(number)]
        await asyncio.sleep(0)
        if given_up is not None:
            requests[given_up].cancel()
        while not all(request.done() for request in requests):
            self._iteration += 1
            self._now += self._seconds
            await asyncio.sleep(0)


async def test_one_request_starts_in_each_short_iteration_in_order() -> None:
    requests = Requests(seconds=LONG_ITERATION_SECONDS / 2)
    await requests.come(MANY)
    assert list(requests.begun) == list(range(MANY))
    iterations = list(requests.begun.values())
    assert len(set(iterations)) == MANY
    assert iterations[-1] - iterations[1] == MANY - 2


async def test_after_long_iterations_a_request_starts_once_the_longest_wait_is_over() -> None:
    seconds = LONG_ITERATION_SECONDS * 1.5
    requests = Requests(seconds)
    await requests.come(MANY)
    iterations = list(requests.begun.values())
    apart = {after - before for before, after in pairwise(iterations[1:])}
    assert apart == {-(-MAX_WAIT_SECONDS // seconds)}


async def test_a_lone_request_starts_at_once() -> None:
    pacing = Pacing()
    for _ in range(3):
        begun = asyncio.create_task(pacing.wait_turn())
        await asyncio.sleep(0)
        assert begun.done()
        await asyncio.sleep(0)
        await asyncio.sleep(0)


async def test_a_cancelled_request_takes_no_turn() -> None:
    requests = Requests(seconds=LONG_ITERATION_SECONDS / 2)
    await requests.come(4, given_up=2)
    assert list(requests.begun) == [0, 1, 3]
    assert requests.begun[3] - requests.begun[1] == 1
