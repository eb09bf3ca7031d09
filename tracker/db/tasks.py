"""Tasks that talk to a store, and their end."""

import asyncio
from typing import Any


async def ended(task: asyncio.Task[Any]) -> None:
    """Cancelled until it ends: the Redis client swallows a cancellation here and there."""
    while not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=0.1)
