"""Commands over one connection that is kept, for whoever sends one after the other all the time.

The client looks for a connection, wraps each command in retries and tells who listens: for the
journal's appends, which every click waits for, that would be more than half of their cost.
"""

import contextlib
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError


class Direct:
    """One command at a time: whoever calls sees to that. The connection is one of the pool of
    `redis`, with its timeouts, and ends with it. After an error it is made anew."""

    def __init__(self, redis: Redis) -> None:
        self._pool: Any = redis.connection_pool
        self._connection: Any = None

    async def execute(self, *command: bytes | str) -> Any:
        """The answer. Raises RedisError. If the connection was lost since the last command, it is
        sent on another, perhaps for the second time."""
        if self._connection is None:
            self._connection = await self._pool.get_connection()
        elif self._connection.is_connected:
            with contextlib.suppress(RedisConnectionError):
                return await self._sent(command)
        return await self._sent(command)

    async def _sent(self, command: tuple[bytes | str, ...]) -> Any:
        await self._connection.send_command(*command)
        return await self._connection.read_response()
