"""Work on tables, which a thread does if it is much: the event loop serves other requests then."""

import asyncio
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")

FEW_ROWS: Final = 300
"""Rows that the event loop works on itself, in 0.5 ms, or in 5 ms if each is a table of its own. A
thread takes 0.05 to 0.2 ms to begin and to hand over, and most reports have fewer rows."""


async def in_thread_if_large(
    rows: int, work: Callable[Given, Result], *args: Given.args, **named: Given.kwargs
) -> Result:
    """Return what `work` returns, which takes time for so many `rows`. Raises what it raises."""
    if rows <= FEW_ROWS:
        return work(*args, **named)
    return await asyncio.to_thread(work, *args, **named)
