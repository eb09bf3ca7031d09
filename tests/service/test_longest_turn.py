"""The longest turn of the event loop is measured, and forgotten after a while."""

import asyncio
import time
from collections.abc import Sequence

import pytest

from tests.waiting import eventually
from tracker.metrics import LONGEST_TURN
from tracker.service.longest_turn import LOOK_SECONDS, WINDOW_SECONDS, Longest, keep_measuring

BLOCKED_SECONDS = 0.1


@pytest.mark.parametrize(
    ("turns", "longest"),
    [
        ([(0.1, 0.2)], 0.1),
        ([(0.3, 1), (0.1, 2)], 0.3),
        ([(0.3, 1), (0.1, WINDOW_SECONDS)], 0.3),
        ([(0.3, 1), (0.1, WINDOW_SECONDS), (0.2, 2 * WINDOW_SECONDS)], 0.2),
        ([(0.3, 1), (0.1, 2 * WINDOW_SECONDS)], 0.1),
        ([(0.3, 1), (0.2, WINDOW_SECONDS), (0.1, 2 * WINDOW_SECONDS)], 0.2),
    ],
)
def test_the_longest_turn_of_two_windows_counts(
    turns: Sequence[tuple[float, float]], longest: float
) -> None:
    found = Longest()
    assert [found.add(*turn) for turn in turns][-1] == longest


async def test_a_turn_that_blocks_the_loop_is_noticed() -> None:
    def measured() -> float:
        [metric] = LONGEST_TURN.collect()
        return metric.samples[0].value

    LONGEST_TURN.set(0)
    task = asyncio.create_task(keep_measuring())
    try:
        await asyncio.sleep(0)
        time.sleep(BLOCKED_SECONDS)
        await eventually(lambda: measured() >= BLOCKED_SECONDS - LOOK_SECONDS)
    finally:
        task.cancel()
