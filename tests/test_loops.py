"""Background loops are restarted after an error, and one that does not run is visible."""

import asyncio

import pytest

from tests.waiting import PATIENCE_SECONDS, eventually
from tracker import loops, metrics
from tracker.loops import LoopFailed, Loops, cancel_and_wait, seconds_to_step


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "FIRST_PAUSE_SECONDS", 0.01)


class Loop:
    """A loop that fails `failures` times, then runs until it is cancelled or `until` is set."""

    def __init__(self, failures: int, until: asyncio.Event | None = None) -> None:
        self.left = failures
        self.until = until
        self.runs = asyncio.Event()

    async def run(self) -> None:
        if self.left:
            self.left -= 1
            raise RuntimeError("the handler is closed")
        self.runs.set()
        await (self.until or asyncio.Event()).wait()


def failures_of(name: str) -> float:
    return float(metrics.LOOP_FAILURES.labels(name)._value.get())


def up(name: str) -> float:
    return float(metrics.LOOP_UP.labels(name)._value.get())


async def test_a_loop_that_fails_is_counted_and_restarted() -> None:
    before, loop, supervised = failures_of("replay"), Loop(3), Loops()
    task = supervised.start("replay", loop.run, asyncio.Event())
    await asyncio.wait_for(loop.runs.wait(), PATIENCE_SECONDS)
    assert failures_of("replay") == before + 3
    await cancel_and_wait(task)


async def test_a_failed_loop_is_reported_until_it_runs_steadily(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loops, "STEADY_SECONDS", 1.0)
    loop, supervised = Loop(2), Loops()
    task = supervised.start("replay", loop.run, asyncio.Event())
    assert (supervised.down, up("replay")) == ([], 1)
    await asyncio.wait_for(loop.runs.wait(), PATIENCE_SECONDS)
    assert (supervised.down, up("replay")) == (["replay (RuntimeError)"], 0)
    await eventually(lambda: not supervised.down)
    assert up("replay") == 1
    await cancel_and_wait(task)


async def test_a_loop_that_awaited_something_cancelled_is_restarted() -> None:
    # The loop itself was not cancelled, so its end must not count as a stop.
    until, runs = asyncio.Event(), 0

    async def run() -> None:
        nonlocal runs
        runs += 1
        if runs == 2:
            until.set()
            return
        waited: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waited.cancel()
        await waited

    await asyncio.wait_for(Loops().start("replay", run, until), PATIENCE_SECONDS)
    assert runs == 2


async def test_a_stop_does_not_wait_for_the_pause_after_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loops, "FIRST_PAUSE_SECONDS", 3600.0)
    monkeypatch.setattr(loops, "MAX_PAUSE_SECONDS", 3600.0)
    until = asyncio.Event()
    loop, supervised = Loop(1, until), Loops()
    task = supervised.start("drain", loop.run, until)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await eventually(lambda: supervised.down)
        until.set()
        await task


async def test_a_loop_that_fails_when_it_is_to_stop_is_not_started_again() -> None:
    until, runs = asyncio.Event(), 0

    async def run() -> None:
        nonlocal runs
        runs += 1
        until.set()
        raise RuntimeError("stopping fails too")

    before = failures_of("replay")
    await asyncio.wait_for(Loops().start("replay", run, until), PATIENCE_SECONDS)
    assert (runs, failures_of("replay")) == (1, before + 1)


async def test_a_loop_is_given_up_after_max_failures_in_a_row() -> None:
    stopped, supervised = asyncio.Event(), Loops()
    supervised.check()
    supervised.on_give_up(stopped.set)
    task = supervised.start("drain", Loop(99).run, asyncio.Event(), max_failures=3)
    await asyncio.wait_for(task, PATIENCE_SECONDS)
    assert stopped.is_set()
    with pytest.raises(LoopFailed, match="drain failed again and again"):
        supervised.check()
    late = asyncio.Event()
    supervised.on_give_up(late.set)  # it is called at once
    assert late.is_set()


def test_the_pause_doubles_up_to_a_limit() -> None:
    assert [loops.pause_seconds(failures) for failures in (1, 2, 3, 99)] == [
        loops.FIRST_PAUSE_SECONDS,
        2 * loops.FIRST_PAUSE_SECONDS,
        4 * loops.FIRST_PAUSE_SECONDS,
        loops.MAX_PAUSE_SECONDS,
    ]


@pytest.mark.parametrize(
    ("at", "seconds", "left"),
    [(10.0, 1.0, 1.0), (10.4, 1.0, 0.6), (10.6, 1.0, 1.4), (10.0, 0.5, 0.5), (10.3, 0.5, 0.7)],
)
def test_loops_of_one_period_wake_together(at: float, seconds: float, left: float) -> None:
    assert seconds_to_step(at, seconds) == pytest.approx(left)
    assert (at + left) % seconds == pytest.approx(0)
