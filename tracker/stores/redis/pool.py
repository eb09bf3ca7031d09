"""The connections of the Redis clients that `stores/redis/clients` builds.

A server may refuse commands because it is no primary. Every connection to it is then opened again
at its next use, when the name may lead to another server.
"""

import asyncio
import contextlib
import re
from typing import Any, Final, Self

from redis.asyncio import BlockingConnectionPool
from redis.asyncio.connection import (
    AbstractConnection,
    Connection,
    SSLConnection,
    UnixDomainSocketConnection,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError, ResponseError

from config.redis_address import sentinel_address
from tracker.stores.breaker import Overload
from tracker.stores.redis.connection import SafeConnection
from tracker.stores.redis.sentinels import Sentinels
from tracker.stores.redis.server_id import UNKNOWN_SERVER, fields_of, server_id

_FOLLOW_SECONDS: Final = 1.0

_CODES: Final = "READONLY|LOADING|MASTERDOWN|NOREPLICAS|CLUSTERDOWN|UNBLOCKED"
"""Refusals of a server that was demoted, that restarts, or that lost its primary or replicas."""

_TAKES_NO_WRITES: Final = re.compile(rf"({_CODES})\b|.* -({_CODES})\b")
"""Redis 6.2 wraps the refusal of a script: ERR Error running script …: -READONLY …"""


def takes_no_writes(refusal: Exception) -> bool:
    code = getattr(refusal, "status_code", None)
    text = str(refusal)
    return _TAKES_NO_WRITES.match(f"{code} {text}" if code else text) is not None


class Generation:
    """The number of abandoned servers. Connections of an earlier generation are not reused.

    `server_id` is that of the server that was connected or asked last.
    """

    def __init__(self) -> None:
        self.number = 0
        self.server_id = UNKNOWN_SERVER
        self._address: tuple[str, int] | None = None

    def set_address(self, address: tuple[str, int]) -> None:
        """Store the primary's address. If it is a new one, this generation ends."""
        if self._address not in (None, address):
            self.number += 1
        self._address = address

    def end(self, number: int) -> None:
        """End generation `number`, unless it has ended: many commands may be refused at once."""
        if number == self.number:
            self.number += 1


class NoConnectionFree(RedisConnectionError, Overload):
    """All connections of the pool are in use: our own overload, no failure of Redis."""


class Pool(BlockingConnectionPool):
    """A bounded pool of connections to one address, valid for one `generation`."""

    _closed: asyncio.Event
    _sentinels: Sentinels | None = None

    @classmethod
    def from_url(cls, url: str, **options: Any) -> Self:
        """Return a pool. For a `url` of sentinels, each new connection goes to the primary."""
        address = sentinel_address(url)
        pool = super().from_url(address.server_url if address else url, **options)
        pool.connection_class = _CLASSES[pool.connection_class]
        given = pool.connection_kwargs
        given["closed"] = pool._closed = asyncio.Event()
        if address is not None:
            tls = {name: given[name] for name in given if name.startswith("ssl")}
            is_encrypted = issubclass(pool.connection_class, SSLConnection)
            pool._sentinels = Sentinels(address, tls if is_encrypted else None)
            given["sentinels"] = pool._sentinels
        return pool

    @property
    def has_sentinels(self) -> bool:
        return self._sentinels is not None

    async def follow_primary(self) -> None:
        """Ask the sentinels every second: a replaced primary loses the writes that it takes."""
        assert self._sentinels is not None, "has_sentinels is False"
        generation: Generation = self.connection_kwargs["generation"]
        while True:
            with contextlib.suppress(RedisError):
                generation.set_address(await self._sentinels.primary())
            await asyncio.sleep(_FOLLOW_SECONDS)

    def reopen_connections(self) -> None:
        """Open all connections again at their next use."""
        generation: Generation = self.connection_kwargs["generation"]
        generation.end(generation.number)

    async def disconnect(self, inuse_connections: bool = True) -> None:
        """Close all connections for good: what is opened meanwhile is closed too."""
        self._closed.set()
        await super().disconnect(inuse_connections)
        if self._sentinels is not None:
            await self._sentinels.close()

    async def get_connection(self, *arguments: Any, **options: Any) -> Any:
        """Return a free connection. Raises NoConnectionFree if there is none in time."""
        try:
            return await super().get_connection(*arguments, **options)  # type: ignore[no-untyped-call]
        except RedisConnectionError as error:
            if str(error) != "No connection available.":
                raise
            raise NoConnectionFree(str(error)) from error

    async def ensure_connection(self, connection: AbstractConnection) -> None:
        if isinstance(connection, _PooledConnection) and connection.is_outdated:
            await connection.disconnect(nowait=True)
        await super().ensure_connection(connection)


class _PooledConnection(SafeConnection):
    host: str
    port: int

    def __init__(
        self,
        *,
        generation: Generation,
        closed: asyncio.Event,
        sentinels: Sentinels | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._closed = closed
        self._sentinels = sentinels
        self._generation = generation
        self._number = generation.number

    @property
    def is_outdated(self) -> bool:
        return self._number != self._generation.number

    def record_refusal(self, error: Exception) -> None:
        if takes_no_writes(error):
            self._generation.end(self._number)

    async def connect_check_health(self, *arguments: Any, **options: Any) -> None:
        """Raises RedisConnectionError if the pool is closed, also meanwhile."""
        self._check_open()
        if not self.is_connected:
            if self._sentinels is not None:
                self.host, self.port = await self._sentinels.primary()
                self._generation.set_address((self.host, self.port))
            self._number = self._generation.number
        await super().connect_check_health(*arguments, **options)
        try:
            self._check_open()
        except RedisConnectionError:
            await self.disconnect(nowait=True)
            raise

    def _check_open(self) -> None:
        if self._closed.is_set():
            raise RedisConnectionError("the client is closed")

    async def on_connect_check_health(self, check_health: bool = True) -> None:
        await super().on_connect_check_health(check_health)
        await self.send_command("INFO", "replication")
        try:
            replication = fields_of(await self.read_response())
        except ResponseError:  # the user of the URL may not ask
            replication = {}
        self._generation.server_id = server_id(replication)

    async def read_response(self, *arguments: Any, **options: Any) -> Any:
        try:
            return await super().read_response(*arguments, **options)
        except RedisError as error:
            self.record_refusal(error)
            raise


class _PlainConnection(_PooledConnection, Connection):
    pass


class _TlsConnection(_PooledConnection, SSLConnection):
    pass


class _UnixConnection(_PooledConnection, UnixDomainSocketConnection):
    pass


_CLASSES: Final[dict[type[AbstractConnection], type[_PooledConnection]]] = {
    Connection: _PlainConnection,
    SSLConnection: _TlsConnection,
    UnixDomainSocketConnection: _UnixConnection,
}
