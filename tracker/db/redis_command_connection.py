"""Commands to Redis over one dedicated connection (`db/dedicated_connection`).

For callers that send commands all the time, one after the other: the journal's appends, and the
counting of requests.
"""

from typing import Any

from hiredis import Reader, pack_command
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError

from tracker.db.dedicated_connection import NOT_YET, DedicatedConnection
from tracker.db.redis_cluster import doubt, has_moved, server_of

Command = tuple[bytes | str, ...]


class RedisCommandConnection:
    """A dedicated connection to Redis, for a caller that sends one command at a time.

    The connection is taken from the pool of `redis`, with its timeouts, and ends with it. It is
    replaced after any error but a refusal, and after a refusal that means that the server takes no
    writes (`db/redis_pool`). With `repeats=False` no command is sent twice. In a Redis Cluster it
    leads to the server that has `key`, whose slot all commands are of; when the slot moves, the
    command is sent once more.
    """

    def __init__(self, redis: Redis, key: str = "", repeats: bool = True) -> None:
        self._repeats = repeats
        self._redis = redis
        self._key = key
        self._pool: Any = None
        self._connection: Any = None
        self._dedicated: DedicatedConnection | None = None
        self._replies = _RedisReplies()

    async def execute(self, *command: bytes | str) -> Any:
        """Return the answer to `command`.

        If the connection was lost since the last command, this one is sent on another; if it is
        lost during this command, then for the second time, unless that was ruled out. Raises
        RedisError if Redis fails or refuses.
        """
        packed = pack_command(command)  # type: ignore[arg-type]  # its stub has tuples of one only
        return await self._request(packed, 1)

    async def execute_all(self, *commands: Command) -> list[Any]:
        """Return the answers to several commands that are sent together, as `execute` does.

        Raises the first answer that is a refusal; the other commands are executed all the same.
        """
        packed = b"".join(pack_command(one) for one in commands)  # type: ignore[arg-type]
        answers: list[Any] = await self._request(packed, len(commands))
        return answers

    async def _request(self, packed: bytes, replies: int) -> Any:
        try:
            return await self._send(packed, replies)
        except ResponseError as error:
            if self._connection is not None:
                self._connection.refused(error)
            if not has_moved(self._redis, error):
                raise
        except (RedisConnectionError, RedisTimeoutError):
            doubt(self._redis)
            raise
        self._dedicated = None
        return await self._send(packed, replies)

    async def _send(self, packed: bytes, replies: int) -> Any:
        if self._dedicated is not None and self._is_usable(self._dedicated):
            self._replies.expect(replies)
            try:
                return await self._dedicated.request(packed)
            except RedisConnectionError:
                self._dedicated = None
                if not self._repeats:
                    raise
        self._dedicated = dedicated = await self._open()
        self._replies.expect(replies)
        return await dedicated.request(packed)

    def _is_usable(self, dedicated: DedicatedConnection) -> bool:
        return not (dedicated.is_lost or self._connection.is_outdated)

    async def _open(self) -> DedicatedConnection:
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
            transport = self._connection._writer.transport
            self._replies = _RedisReplies()
            return DedicatedConnection(transport, self._connection.socket_timeout, self._replies)
        except RuntimeError as error:  # uvloop's, of a transport that is closed
            raise RedisConnectionError(str(error)) from error


class _RedisReplies:
    """A ReplyReader of Redis's protocol, which hiredis parses."""

    lost_error: type[Exception] = RedisConnectionError
    timeout_error: type[Exception] = RedisTimeoutError

    def __init__(self) -> None:
        self._reader = Reader(replyError=ResponseError)
        self._expected = 1
        self._read: list[Any] = []

    def expect(self, replies: int) -> None:
        """Expect so many replies to what is sent next."""
        self._expected = replies

    def read(self, data: bytes) -> Any:
        """Return the reply that ends with `data`, or NOT_YET. Raises ValueError for more replies.

        Of several that are expected, return a list, or the first that is an error.
        """
        self._reader.feed(data)
        while (reply := self._reader.gets()) is not False:
            self._read.append(reply)
        if len(self._read) < self._expected:
            return NOT_YET
        replies, self._read = self._read, []
        if len(replies) > self._expected or self._reader.has_data():
            raise ValueError("more replies than commands")
        if self._expected == 1:
            return replies[0]
        return next((one for one in replies if isinstance(one, Exception)), replies)
