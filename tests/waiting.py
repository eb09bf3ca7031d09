"""Waits for what other tasks, threads and processes do, with one bound for all of them.

The bound is for a test that fails. It must be so long that no machine is too slow for it, and it
says nothing about speed. To wait for an event or a task, use `asyncio.wait_for` with the bound.
"""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

PATIENCE_SECONDS: Final = 60.0

PROCESS_PATIENCE_SECONDS: Final = 3 * PATIENCE_SECONDS
"""The bound of waits for other processes, which must start and connect first."""

_LOOK_SECONDS: Final = 0.005

_MAX_WORK_SECONDS: Final = 20.0
"""Of the processor, by which work is bounded that grew with a square."""


async def eventually(condition: Callable[[], object]) -> None:
    """Wait until `condition` returns something true, or a coroutine that does."""
    try:
        async with asyncio.timeout(PATIENCE_SECONDS) as limit:
            while not await _value(condition()):
                await asyncio.sleep(_LOOK_SECONDS)
    except TimeoutError:
        if not limit.expired():
            raise
        raise AssertionError(_never(condition, PATIENCE_SECONDS)) from None


async def becomes(read: Callable[[], Awaitable[object]], expected: object) -> None:
    """Wait until `read` returns `expected`."""
    found: object = "nothing"

    async def is_so() -> bool:
        nonlocal found
        found = await read()
        return found == expected

    try:
        await eventually(is_so)
    except AssertionError:
        message = f"{_text(read)} became {found!r}, not {expected!r}"
        raise AssertionError(message) from None


def until(condition: Callable[[], object]) -> None:
    """Wait until `condition` holds while no loop of this thread runs: for other processes."""
    deadline = time.monotonic() + PROCESS_PATIENCE_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(_never(condition, PROCESS_PATIENCE_SECONDS))
        time.sleep(_LOOK_SECONDS)


@contextmanager
def bounded_work() -> Iterator[None]:
    """Fail after a block that took very much of the processor: its work grew with a square."""
    began = time.thread_time()
    yield
    assert time.thread_time() - began < _MAX_WORK_SECONDS


async def _value(found: Any) -> Any:
    return await found if inspect.isawaitable(found) else found


def _never(condition: Callable[[], object], seconds: float) -> str:
    return f"it did not happen in {seconds:g} seconds: {_text(condition)}"


def _text(condition: Callable[[], object]) -> str:
    """Return the source of a condition: it says best what did not happen."""
    try:
        return inspect.getsource(condition).strip()
    except (OSError, TypeError):  # a built-in or a `partial`
        return repr(condition)
