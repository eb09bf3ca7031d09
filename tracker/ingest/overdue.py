"""The loop that notifies webhooks of events whose clicks are late.

All drains run it; where two find the same event, one wins.
"""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable
from typing import Final

import structlog
from pymongo.errors import PyMongoError
from redis.exceptions import RedisError

log = structlog.get_logger(__name__)

MAX_PAUSE_SECONDS: Final = 10.0
"""The longest pause between two checks. It varies: drains that check at once conflict."""


async def notify_overdue_loop(notify: Callable[[], Awaitable[int]], stop: asyncio.Event) -> None:
    """Call `notify` until `stop` is set; at once again if it returns a number of events.

    Raises what `notify` raises, unless that means that a store is unavailable.
    """
    while not stop.is_set():
        try:
            while await notify() and not stop.is_set():
                pass
        except (PyMongoError, RedisError) as error:
            log.warning("notifications of late clicks wait", error=type(error).__name__)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), MAX_PAUSE_SECONDS * random.uniform(0.5, 1))  # noqa: S311
