"""The check by which a process knows on which servers copies in Redis can be trusted."""

from typing import Final

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tracker.loops import sleep_in_step
from tracker.stores.redis.clients import check_server_ids

log = structlog.get_logger(__name__)

CHECK_SECONDS: Final = 1.0


async def keep_checking(redis: Redis) -> None:
    """Check each second, until cancelled, whether a server has changed."""
    while True:
        try:
            await check_server_ids(redis)
        except RedisError as error:
            log.debug("copies not checked", error=type(error).__name__)
        await sleep_in_step(CHECK_SECONDS)
