"""Work on tables, in a thread if it is large, so that the event loop serves other requests."""

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final, ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")

FEW_ROWS: Final = 300
"""Rows that the event loop works on itself: 0.5 ms, or 5 ms if each is a table. A thread costs 0.05
to 0.2 ms, and most reports have fewer rows."""

_THREAD: Final = ThreadPoolExecutor(1, "reports")
"""One thread: two would share the interpreter, finish no sooner, and delay visitors twice."""

_BLOCKED_SECONDS: Final = 0.005
"""A longer delay of the event loop means that the work has blocked it."""

_RESTS_PER_WORK: Final = 3
"""The length of a rest, as a multiple of the work. Measured with 7,000 visitors a second and twenty
reports of 200,000 values. Visitors' p99: 130 to 250 ms with 0, 62 to 94 with 1, 49 to 66 with 3."""

_MAX_REST_SECONDS: Final = 0.3


async def in_thread_if_large(
    rows: int, work: Callable[Given, Result], *args: Given.args, **named: Given.kwargs
) -> Result:
    """Run `work`, in a thread if it has more rows than the loop can afford."""
    if rows <= FEW_ROWS:
        return work(*args, **named)
    return await in_thread(work, *args, **named)


async def in_thread(
    work: Callable[Given, Result], *args: Given.args, **named: Given.kwargs
) -> Result:
    """Run `work` in the thread of reports. If it has blocked the event loop, the thread rests."""
    loop = asyncio.get_running_loop()
    result, seconds, ended = await loop.run_in_executor(_THREAD, _timed, work, args, named)
    if time.monotonic() - ended > _BLOCKED_SECONDS:
        _THREAD.submit(time.sleep, min(_RESTS_PER_WORK * seconds, _MAX_REST_SECONDS))
    return result


def _timed(
    work: Callable[..., Result], args: tuple[object, ...], named: Mapping[str, object]
) -> tuple[Result, float, float]:
    """Return the result of `work`, its duration, and its end."""
    began = time.monotonic()
    result = work(*args, **named)
    ended = time.monotonic()
    return result, ended - began, ended
