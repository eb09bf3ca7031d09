"""Commands over one connection that is kept, for whoever sends one after the other all the time.

The client looks for a connection, wraps each command in retries, streams, tasks and timeouts and
tells who listens: for the journal's appends, which every click waits for, that would be most of
their cost. So it only opens the connection (address, password, TLS); then its transport is spoken
to directly, in the protocol of Redis as hiredis writes and reads it.
"""

import asyncio
from typing import Any

from hiredis import Reader, pack_command
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError


class Direct:
    """One command at a time: whoever calls sees to that. The connection is one of the pool of
    `redis`, with its timeouts, and ends with it. After any error but a refusal it is made anew."""

    def __init__(self, redis: Redis) -> None:
        self._pool: Any = redis.connection_pool
        self._connection: Any = None
        self._link: _Link | None = None

    async def execute(self, *command: bytes | str) -> Any:
        """The answer. Raises RedisError. If the connection was lost since the last command, it is
        sent on another, perhaps for the second time."""
        packed = pack_command(command)  # type: ignore[arg-type]  # its stub knows tuples of one
        if self._link is not None:
            try:
                return await self._link.ask(packed)
            except RedisConnectionError:
                self._link = None
        self._link = link = await self._opened()
        return await link.ask(packed)

    async def _opened(self) -> "_Link":
        if self._connection is None:
            self._connection = await self._pool.get_connection()
        else:
            await self._connection.disconnect(nowait=True)
            await self._connection.connect()
        return _Link(self._connection._writer.transport, self._connection.socket_timeout)


class _Link(asyncio.Protocol):
    """The connection, from when the client has opened it. Lost after any error but a refusal."""

    def __init__(self, transport: asyncio.Transport, seconds: float) -> None:
        self._transport = transport
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._reader = Reader(replyError=ResponseError)
        self._answer: asyncio.Future[Any] | None = None
        # The client is told when the connection is lost: it waits for that when it is to close it.
        self._client = transport.get_protocol()
        transport.set_protocol(self)

    async def ask(self, command: bytes) -> Any:
        """Raises ResponseError if it is refused; ConnectionError, at once if the connection was
        lost before, and TimeoutError, both of the client's."""
        if self._transport.is_closing():
            raise RedisConnectionError("the connection was lost")
        self._answer = answer = self._loop.create_future()
        self._transport.write(command)
        timeout = self._loop.call_later(self._seconds, self._too_late)
        try:
            return await answer
        finally:
            timeout.cancel()
            if answer.cancelled():  # what comes yet is not to be taken for the next one's
                self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        reply = self._reader.gets()
        if reply is False:
            return
        # One to no command, now or next: who asks next is not to take it for the answer.
        if self._answer is None or self._reader.has_data():
            self._transport.abort()
        else:
            self._tell(reply)

    def connection_lost(self, error: Exception | None) -> None:
        self._tell(RedisConnectionError("the connection was lost"))
        self._client.connection_lost(error)

    def _too_late(self) -> None:
        self._tell(RedisTimeoutError("no answer in time"))
        self._transport.abort()

    def _tell(self, reply: object) -> None:
        answer, self._answer = self._answer, None
        if answer is None or answer.done():
            return
        if isinstance(reply, Exception):
            answer.set_exception(reply)
        else:
            answer.set_result(reply)
