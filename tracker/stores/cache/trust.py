"""The checks by which a process knows whether copies in Redis can be trusted."""

from typing import Final

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tracker.loops import sleep_in_step
from tracker.stores.cache.copies import Copies
from tracker.stores.redis.clients import check_server_ids
from tracker.stores.redis.cluster import server_of
from tracker.stores.redis.keys import CHANGES, CHANGES_OF_STRINGS

log = structlog.get_logger(__name__)

CHECK_SECONDS: Final = 1.0


async def keep_checking(redis: Redis, copies: Copies) -> None:
    """Check each second, until cancelled, whether a server or a listener has changed."""
    while True:
        try:
            await check(redis, copies)
        except RedisError as error:
            log.debug("copies not checked", error=type(error).__name__)
        await sleep_in_step(CHECK_SECONDS)


async def check(redis: Redis, copies: Copies) -> None:
    """Suspend the copies while processes of the previous release listen to changes.

    They would take a copy, which is a string now, for a failure of Redis. Their own changes update
    no string.
    """
    await check_server_ids(redis)
    server = await server_of(redis, CHANGES)
    listeners = dict(await server.pubsub_numsub(CHANGES, CHANGES_OF_STRINGS))
    suspended = listeners[CHANGES.encode()] > listeners[CHANGES_OF_STRINGS.encode()]
    if suspended != copies.suspended:
        log.warning(
            "a process of the previous release runs: MongoDB answers instead of copies in Redis"
            if suspended
            else "copies in Redis are used"
        )
    copies.suspended = suspended
