"""The load and the schedule of `make chaos`, drawn from a seed, and the ledger of answers."""

import asyncio
import re
from collections import Counter
from collections.abc import Callable
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from lab.chaos.disturbances import MAX_SECONDS, schedule
from lab.chaos.topology import kinds_of
from lab.chaos.traffic import Ledger, Request, Requests, run_load
from lab.scene import Place, Scene
from tests.lab.answering import REDIRECT, answering
from tests.waiting import eventually

SCENE = Scene(UUID(int=1), "key", [Place("one"), Place("two", "go.chaos.test")], ["p1", "p2"], {})
CLICKS = [UUID(int=number) for number in range(1, 50)]


def drawn(count: int, seed: int = 1) -> list[list[Request]]:
    requests = Requests(SCENE, seed, CLICKS)
    return [requests.next() for _ in range(count)]


def test_a_seed_draws_the_same_requests_each_with_a_number_of_its_own() -> None:
    assert drawn(300) == drawn(300) != drawn(300, seed=2)
    requests = [one for group in drawn(2000) for one in group]
    assert len({one.number for one in requests}) == len(requests)
    for one in requests:
        number = rf"[?&]n={one.number}(&| )|n%22%3A\+{one.number}%7D|n\": {one.number}}}"
        assert re.search(number, one.data.decode())


async def loaded(
    answer: Callable[[bytes, asyncio.StreamWriter], None], done: Callable[[Ledger], bool]
) -> Ledger:
    """Return the ledger of a load that is stopped when it is `done`."""
    ledger, stop = Ledger(), asyncio.Event()

    async def serve(head: bytes, writer: asyncio.StreamWriter) -> None:
        answer(head, writer)

    async with answering(serve) as port:
        running = asyncio.create_task(run_load(SCENE, port, ledger, 1, 500, stop))
        await eventually(lambda: done(ledger))
        stop.set()
        await running
    return ledger


async def test_a_request_whose_connection_breaks_is_cut_and_not_sent_again() -> None:
    heads: list[bytes] = []

    def cut(head: bytes, writer: asyncio.StreamWriter) -> None:
        heads.append(head)
        writer.write(REDIRECT[:40])
        writer.close()

    ledger = await loaded(cut, lambda ledger: len(ledger.cut) > 5)
    assert ledger.answered == 0
    assert len(heads) == len(ledger.cut)


KINDS = kinds_of("single")


@given(seed=st.integers(), count=st.integers(0, 100), seconds=st.floats(1, 10_000))
def test_a_schedule_is_that_of_its_seed_balanced_in_order_and_within_bounds(
    seed: int, count: int, seconds: float
) -> None:
    planned = schedule(seed, seconds, count, KINDS)
    assert planned == schedule(seed, seconds, count, KINDS)
    numbers = Counter(dict.fromkeys(KINDS, 0)) + Counter(one.kind for one in planned)
    assert len(planned) == count
    assert max(numbers.values(), default=0) - min(numbers[kind] for kind in KINDS) <= 1
    assert [one.at for one in planned] == sorted(one.at for one in planned)
    assert all(0 <= one.at <= seconds for one in planned)
    assert all(0 <= one.seconds <= min(MAX_SECONDS, seconds / 10) for one in planned)
