"""Commands to Redis over one dedicated connection: of the journal, copies and counts of requests.

The client library looks for a connection for each command, and wraps it in retries, timeouts and
tasks. That was most of the cost of a click's wait, so it only opens the connection.
"""

import asyncio
from functools import cache
from hashlib import sha1
from typing import Any, Final

from hiredis import Reader, pack_command
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError

from tracker.stores.redis.cluster import has_moved, refresh_slots, server_of

_GRACE_SECONDS: Final = 0.05
"""A blocked loop then reads answers that arrived before the timeout."""

Command = tuple[bytes | str, ...]


class _Connection(asyncio.Protocol):
    """A connection for one request at a time. It is lost after any error but a refusal."""

    def __init__(self, transport: asyncio.Transport, seconds: float) -> None:
        self._transport = transport
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._answer: asyncio.Future[Any] | None = None
        self._reader = Reader(replyError=ResponseError)
        self._expected = 1
        self._replies: list[Any] = []
        # Closing the client waits until it is notified of the loss.
        self._client = transport.get_protocol()
        transport.set_protocol(self)
        transport.resume_reading()

    @property
    def is_lost(self) -> bool:
        return self._transport.is_closing()

    async def request(self, packed: bytes, replies: int) -> Any:
        """Return the reply, or a list of several. Raises the first reply that is a refusal."""
        if self._transport.is_closing():
            raise RedisConnectionError("the connection was lost")
        self._expected = replies
        self._answer = answer = self._loop.create_future()
        try:
            self._transport.write(packed)
        except RuntimeError as error:  # uvloop's, of a transport that is closed
            raise RedisConnectionError(str(error)) from error
        self._timeout = self._loop.call_later(self._seconds, self._allow_grace)
        try:
            return await answer
        finally:
            self._timeout.cancel()
            if answer.cancelled():  # a later reply must not be taken for the next command's
                self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        while (reply := self._reader.gets()) is not False:
            self._replies.append(reply)
        if len(self._replies) < self._expected:
            return
        replies, self._replies = self._replies, []
        # A reply to no command must not be taken for the next command's.
        if self._answer is None or len(replies) > self._expected or self._reader.has_data():
            self._transport.abort()
        elif self._expected == 1:
            self._settle(replies[0])
        else:
            self._settle(next((one for one in replies if isinstance(one, Exception)), replies))

    def connection_lost(self, error: Exception | None) -> None:
        self._settle(RedisConnectionError("the connection was lost"))
        self._client.connection_lost(error)

    def _allow_grace(self) -> None:
        self._timeout = self._loop.call_later(_GRACE_SECONDS, self._time_out)

    def _time_out(self) -> None:
        self._settle(RedisTimeoutError("no answer in time"))
        self._transport.abort()

    def _settle(self, reply: object) -> None:
        answer, self._answer = self._answer, None
        if answer is None or answer.done():
            return
        if isinstance(reply, Exception):
            answer.set_exception(reply)
        else:
            answer.set_result(reply)


class RedisCommandConnection:
    """A dedicated connection, for a caller that sends one command at a time.

    It is replaced after any error but a refusal, or if the server takes no writes. With
    `repeats=False` no command is sent twice. In a cluster all commands go to the server of `key`.
    """

    def __init__(self, redis: Redis, key: str = "", repeats: bool = True) -> None:
        self._repeats = repeats
        self._redis = redis
        self._key = key
        self._pool: Any = None
        self._connection: Any = None
        self._dedicated: _Connection | None = None

    async def execute(self, *command: bytes | str) -> Any:
        """Return the answer to `command`.

        If the connection is lost, the command is sent on another. It may then run twice, unless
        `repeats` is False.
        """
        packed = pack_command(command)  # type: ignore[arg-type]  # its stub has tuples of one only
        return await self._request(packed, 1)

    async def execute_script(self, script: str, *arguments: bytes | str) -> Any:
        """Return the answer to a script; it is sent as its digest unless the server lacks it.

        `arguments` are the number of keys, the keys, and the rest. Runs as `execute` does.
        """
        try:
            return await self.execute("EVALSHA", _digest(script), *arguments)
        except ResponseError as error:
            if not str(error).startswith("NOSCRIPT"):
                raise
        return await self.execute("EVAL", script, *arguments)

    async def execute_all(self, *commands: Command) -> list[Any]:
        """Return several answers. Raises the first refusal; the other commands run all the same."""
        packed = b"".join(pack_command(one) for one in commands)  # type: ignore[arg-type]
        answers: list[Any] = await self._request(packed, len(commands))
        return answers

    async def _request(self, packed: bytes, replies: int) -> Any:
        try:
            return await self._send(packed, replies)
        except ResponseError as error:
            if self._connection is not None:
                self._connection.record_refusal(error)
            if not has_moved(self._redis, error):
                raise
        except (RedisConnectionError, RedisTimeoutError):
            refresh_slots(self._redis)
            raise
        self._dedicated = None
        return await self._send(packed, replies)

    async def _send(self, packed: bytes, replies: int) -> Any:
        dedicated = self._dedicated
        if dedicated and not (dedicated.is_lost or self._connection.is_outdated):
            try:
                return await dedicated.request(packed, replies)
            except RedisConnectionError:
                self._dedicated = None
                if not self._repeats:
                    raise
        self._dedicated = dedicated = await self._open()
        return await dedicated.request(packed, replies)

    async def _open(self) -> _Connection:
        pool: Any = (await server_of(self._redis, self._key)).connection_pool
        if self._connection is not None and pool is not self._pool:
            connection, self._connection = self._connection, None
            await connection.disconnect(nowait=True)
            await self._pool.release(connection)
        if self._connection is None:
            self._connection, self._pool = await pool.get_connection(), pool
        else:
            await self._connection.disconnect(nowait=True)
            await self._connection.connect()
        try:
            # Private in redis-py: Connection._writer. The journal writes to the transport itself.
            # Guarded by tests/stores/redis/test_command_connection.py.
            transport = self._connection._writer.transport
            return _Connection(transport, self._connection.socket_timeout)
        except RuntimeError as error:  # uvloop's, of a transport that is closed
            raise RedisConnectionError(str(error)) from error


@cache
def _digest(script: str) -> str:
    """Return the name of a script in Redis. Scripts are few and constant."""
    return sha1(script.encode(), usedforsecurity=False).hexdigest()
