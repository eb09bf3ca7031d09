"""Work on tables, which a thread does if it is much: the event loop serves other requests then."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")

FEW_ROWS: Final = 300
"""Rows that the event loop works on itself, in 0.5 ms, or in 5 ms if each is a table of its own. A
thread takes 0.05 to 0.2 ms to begin and to hand over, and most reports have fewer rows."""

_THREAD: Final = ThreadPoolExecutor(1, "reports")
"""One thread: two would not be done sooner, because they share the interpreter, and visitors would
wait for both."""


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
    """Return what `work` returns, from the thread of reports. Raises what it raises."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_THREAD, partial(work, *args, **named))
