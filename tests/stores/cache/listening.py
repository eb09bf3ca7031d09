"""A process that hears what other processes change."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.waiting import PATIENCE_SECONDS
from tracker.loops import cancel_and_wait
from tracker.stores.cache.changes import Changes


@asynccontextmanager
async def listening(changes: Changes) -> AsyncIterator[None]:
    """Listen to the changes of other processes while the block runs."""
    task = asyncio.ensure_future(changes.listen())
    try:
        await asyncio.wait_for(changes.subscribed.wait(), PATIENCE_SECONDS)
        yield
    finally:
        await cancel_and_wait(task)
