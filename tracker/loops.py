"""Supervised background loops: an error is logged and counted, and the loop is restarted.

Guarantee: no loop ends unnoticed. `/readyz` and `tracker_background_loop_up` show a stopped one.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

import structlog

from tracker import metrics

log = structlog.get_logger(__name__)

FIRST_PAUSE_SECONDS: Final = 0.2
MAX_PAUSE_SECONDS: Final = 10.0
"""The longest pause. The pause doubles with each failure in a row."""

STEADY_SECONDS: Final = 1.0
"""How long a restarted loop must run before it counts as running."""


class LoopFailed(Exception):
    """The end of a loop that was given up. The message is one line, for the operator."""


class Loops:
    """The supervised loops of a process. Their names are values of a metric's label."""

    def __init__(self) -> None:
        self._down: dict[str, str] = {}
        self._given_up: LoopFailed | None = None
        self._on_give_up: Callable[[], None] = lambda: None

    @property
    def down(self) -> list[str]:
        return [f"{name} ({error})" for name, error in sorted(self._down.items())]

    def start(
        self,
        name: str,
        run: Callable[[], Awaitable[None]],
        until: asyncio.Event,
        max_failures: int | None = None,
    ) -> asyncio.Task[None]:
        """Keep `run` running until `until` is set or the task is cancelled.

        Returning earlier counts as an error. After `max_failures` errors in a row, each within
        STEADY_SECONDS of its start, the loop is given up; None means never.
        """
        metrics.LOOP_FAILURES.labels(name)
        self._mark_up(name)
        supervised = self._supervise(name, run, until, max_failures)
        return asyncio.get_running_loop().create_task(supervised)

    def on_give_up(self, call: Callable[[], None]) -> None:
        """Call `call` when a loop is given up, or at once if one already was."""
        self._on_give_up = call
        if self._given_up is not None:
            call()

    def check(self) -> None:
        """Raises LoopFailed if a loop was given up."""
        if self._given_up is not None:
            raise self._given_up

    async def _supervise(
        self,
        name: str,
        run: Callable[[], Awaitable[None]],
        until: asyncio.Event,
        max_failures: int | None,
    ) -> None:
        failures = 0
        while True:
            began = time.monotonic()
            error = await self._run_once(name, run, until)
            if error is None:
                return
            failures = 1 if time.monotonic() - began >= STEADY_SECONDS else failures + 1
            record_failure(name, error)
            self._down[name] = type(error).__name__
            metrics.LOOP_UP.labels(name).set(0)
            if until.is_set():
                return
            if failures == max_failures:
                log.error("loop is given up", loop=name, error=type(error).__name__)
                rule = f"the loop {name} failed again and again; the log says why"
                self._given_up = LoopFailed(rule)
                self._on_give_up()
                return
            await wait(until, pause_seconds(failures))

    async def _run_once(
        self, name: str, run: Callable[[], Awaitable[None]], until: asyncio.Event
    ) -> Exception | None:
        """Run the loop until it ends; return its error, None if it was stopped."""
        steady = asyncio.get_running_loop().call_later(STEADY_SECONDS, self._mark_up, name)
        try:
            await run()
        except Exception as error:
            return error
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            return RuntimeError(f"a task that the loop awaited was cancelled: {error!r}")
        finally:
            steady.cancel()
        return None if until.is_set() else RuntimeError("the loop returned before it was stopped")

    def _mark_up(self, name: str) -> None:
        self._down.pop(name, None)
        metrics.LOOP_UP.labels(name).set(1)


def record_failure(name: str, error: Exception) -> None:
    metrics.LOOP_FAILURES.labels(name).inc()
    log.error("background loop failed", loop=name, exc_info=error)


def pause_seconds(failures: int) -> float:
    return min(FIRST_PAUSE_SECONDS * 2.0 ** min(failures - 1, 32), MAX_PAUSE_SECONDS)


async def wait(event: asyncio.Event, seconds: float) -> bool:
    """Wait until `event` is set, or for `seconds`; return whether it is."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()


async def repeat(seconds: float, work: Callable[[], Awaitable[None]]) -> None:
    """Do `work` after each pause of `seconds`, until cancelled."""
    while True:
        await asyncio.sleep(seconds)
        await work()


async def sleep_in_step(seconds: float) -> None:
    """Sleep about `seconds`, and wake together with other loops of the same period.

    A process at rest wakes with cold caches, which is most of what a short look costs.
    """
    await asyncio.sleep(seconds_to_step(asyncio.get_running_loop().time(), seconds))


def seconds_to_step(at: float, seconds: float) -> float:
    """Return the time until a multiple of `seconds`: not less than half of it, nor 1.5 times."""
    left = seconds - at % seconds
    return left if left >= seconds / 2 else left + seconds


async def run_until(stop: asyncio.Event, work: Coroutine[Any, Any, None]) -> None:
    """Run `work`, and cancel it when `stop` is set. Raises its errors."""
    loop = asyncio.get_running_loop()
    working, stopping = loop.create_task(work), loop.create_task(stop.wait())
    try:
        await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
    finally:
        await cancel_and_wait(working)
        await cancel_and_wait(stopping)


async def cancel_and_wait(task: asyncio.Task[Any]) -> None:
    """Cancel `task` until it has ended: Redis's client swallows cancellations."""
    while not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=0.1)
