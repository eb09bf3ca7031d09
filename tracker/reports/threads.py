"""Work on tables, which a thread does if it is much: the event loop serves other requests then."""

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final, ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")

FEW_ROWS: Final = 300
"""Rows that the event loop works on itself, in 0.5 ms, or in 5 ms if each is a table of its own. A
thread takes 0.05 to 0.2 ms to begin and to hand over, and most reports have fewer rows."""

_THREAD: Final = ThreadPoolExecutor(1, "reports")
"""One thread: two would not be done sooner, because they share the interpreter, and visitors would
wait for both."""

_HELD_UP_SECONDS: Final = 0.005
"""How late the event loop hears of the end of work that has held it up."""

_RESTS_PER_WORK: Final = 3
"""Beside 7,000 visitors a second, twenty reports of 200,000 values made their p99 130 to 250 ms
without a rest, 62 to 94 with one as long as the work, and 49 to 66 with three times as long."""

_MAX_REST_SECONDS: Final = 0.3


async def in_thread_if_large(
    rows: int, work: Callable[Given, Result], *args: Given.args, **named: Given.kwargs
) -> Result:
    """Return what `work` returns, which takes time for so many `rows`. Raises what it raises."""
    if rows <= FEW_ROWS:
        return work(*args, **named)
    return await in_thread(work, *args, **named)


async def in_thread(
    work: Callable[Given, Result], *args: Given.args, **named: Given.kwargs
) -> Result:
    """Return what `work` returns, from the thread of reports. Raises what it raises.

    If the event loop was held up by it, the thread rests afterwards, longer than it worked, so that
    visitors who have waited meanwhile are answered before it goes on.
    """
    loop = asyncio.get_running_loop()
    result, seconds, ended = await loop.run_in_executor(_THREAD, _timed, work, args, named)
    if time.monotonic() - ended > _HELD_UP_SECONDS:
        _THREAD.submit(time.sleep, min(_RESTS_PER_WORK * seconds, _MAX_REST_SECONDS))
    return result


def _timed(
    work: Callable[..., Result], args: tuple[object, ...], named: Mapping[str, object]
) -> tuple[Result, float, float]:
    """Return the result of `work`, how long it took, and when it ended."""
    began = time.monotonic()
    result = work(*args, **named)
    ended = time.monotonic()
    return result, ended - began, ended
