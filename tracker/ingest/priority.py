"""The priorities of the low-priority consumers: the helper, and the overflow's."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from tracker.ingest.consumer import Consumer, Priority
from tracker.loops import wait
from tracker.stores.redis.clients import BLOCK_SECONDS

MAX_WAIT_SECONDS: Final = 5.0
"""The longest wait of the overflow, so that it is stored at last."""

_LOOK_SECONDS: Final = 0.1


def while_behind(other: Consumer) -> Priority:
    """Return the helper's priority: it reads while `other` is behind.

    It reads and enriches a batch while MongoDB stores the other's.
    """

    async def may_read(stop: asyncio.Event) -> bool:
        return await wait(other.behind, BLOCK_SECONDS) and not stop.is_set()

    return Priority(may_read, block=None)


def unless_behind(others: Callable[[], Iterable[Consumer]]) -> Priority:
    """Return the overflow's: it reads while no other is behind, or after MAX_WAIT_SECONDS."""

    async def may_read(stop: asyncio.Event) -> bool:
        for _ in range(int(MAX_WAIT_SECONDS / _LOOK_SECONDS)):
            if stop.is_set() or not any(one.behind.is_set() for one in others()):
                break
            await wait(stop, _LOOK_SECONDS)
        return not stop.is_set()

    return Priority(may_read, block=BLOCK_SECONDS)
