"""Work on large tables does not hold up the event loop for long."""

import math
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from tracker.reports import threads


class Recorder(ThreadPoolExecutor):
    """A thread that records how long it is told to rest, and does not rest."""

    def __init__(self) -> None:
        super().__init__(1)
        self.rests: list[float] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if fn is time.sleep:
            self.rests.append(args[0])
            return Future()
        return super().submit(fn, *args, **kwargs)


@pytest.mark.parametrize(("blocked_from", "rests"), [(-1.0, 1), (math.inf, 0)])
async def test_the_thread_rests_if_it_has_blocked_the_event_loop(
    monkeypatch: pytest.MonkeyPatch, blocked_from: float, rests: int
) -> None:
    with Recorder() as thread:
        monkeypatch.setattr(threads, "_THREAD", thread)
        monkeypatch.setattr(threads, "_BLOCKED_SECONDS", blocked_from)
        assert await threads.in_thread(sum, [1, 2]) == 3
    assert len(thread.rests) == rests
    assert all(0 <= seconds <= 0.3 for seconds in thread.rests)


async def test_an_error_of_the_work_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        await threads.in_thread(divmod, 1, 0)
