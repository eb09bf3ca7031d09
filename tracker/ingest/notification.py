"""The loop that notifies webhooks of pending events whose click is late."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Final

import structlog
from pymongo.errors import PyMongoError
from redis.exceptions import RedisError

from tracker.loops import wait

log = structlog.get_logger(__name__)

MAX_PAUSE_SECONDS: Final = 10.0
"""The longest pause between two checks. It varies, because simultaneous checks conflict."""


async def notify_overdue_loop(notify: Callable[[], Awaitable[int]], stop: asyncio.Event) -> None:
    """Call `notify` periodically until `stop` is set, and at once again while it finds events.

    All drains run this loop. If two find the same event, one of them notifies.
    """
    while not stop.is_set():
        try:
            while await notify() and not stop.is_set():
                pass
        except (PyMongoError, RedisError) as error:
            log.warning("notifications of late clicks wait", error=type(error).__name__)
        await wait(stop, MAX_PAUSE_SECONDS * random.uniform(0.5, 1))  # noqa: S311
