"""Commands to Redis over one connection that is kept (`db/link`), for whoever sends one after the
other all the time: the journal's appends."""

import asyncio
from typing import Any

from hiredis import Reader, pack_command
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError

from tracker.db.link import NOT_YET, Link


class Direct:
    """One command at a time: whoever calls sees to that. The connection is one of the pool of
    `redis`, with its timeouts, and ends with it. It is made again after any error but a refusal,
    and after a refusal that says that the server takes no writes (`db/redis_pool`)."""

    def __init__(self, redis: Redis) -> None:
        self._pool: Any = redis.connection_pool
        self._connection: Any = None
        self._link: _Link | None = None

    async def execute(self, *command: bytes | str) -> Any:
        """The answer. Raises RedisError. If the connection was lost since the last command, it is
        sent on another, perhaps for the second time."""
        packed = pack_command(command)  # type: ignore[arg-type]  # its stub knows tuples of one
        try:
            if self._link is not None and not self._connection.is_outdated:
                try:
                    return await self._link.ask(packed)
                except RedisConnectionError:
                    self._link = None
            self._link = link = await self._opened()
            return await link.ask(packed)
        except ResponseError as error:
            if self._connection is not None:
                self._connection.refused(error)
            raise

    async def _opened(self) -> "_Link":
        if self._connection is None:
            self._connection = await self._pool.get_connection()
        else:
            await self._connection.disconnect(nowait=True)
            await self._connection.connect()
        try:
            return _Link(self._connection._writer.transport, self._connection.socket_timeout)
        except RuntimeError as error:  # uvloop's, of a transport that is closed
            raise RedisConnectionError(str(error)) from error


class _Link(Link):
    """In the protocol of Redis as hiredis reads it."""

    lost = RedisConnectionError
    late = RedisTimeoutError

    def __init__(self, transport: asyncio.Transport, seconds: float) -> None:
        super().__init__(transport, seconds)
        self._reader = Reader(replyError=ResponseError)

    def reply(self, data: bytes) -> Any:
        self._reader.feed(data)
        reply = self._reader.gets()
        if reply is False:
            return NOT_YET
        if self._reader.has_data():
            raise ValueError("more than one reply")
        return reply
