"""Tells webhooks, in time, of events whose clicks are late. Every drain does it; the first wins."""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable
from typing import Final

import structlog
from pymongo.errors import PyMongoError
from redis.exceptions import RedisError

log = structlog.get_logger(__name__)

EVERY: Final = 10.0
"""Seconds between two looks, about: drains that look at the same moment only hinder each other."""


async def tell_in_time(tell: Callable[[], Awaitable[int]], stop: asyncio.Event) -> None:
    """Run until `stop` is set. `tell` answers how many events it has dealt with. Raises what `tell`
    raises, unless that says that a store is unavailable."""
    while not stop.is_set():
        try:
            while await tell() and not stop.is_set():
                pass
        except (PyMongoError, RedisError) as error:
            log.warning("webhooks wait to be told", error=type(error).__name__)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), EVERY * random.uniform(0.5, 1))  # noqa: S311
