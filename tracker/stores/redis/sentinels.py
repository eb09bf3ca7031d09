"""The query to sentinels for the primary, for each new connection.

The client library's own Sentinel, asked several times at once, forgets silent sentinels.
"""

from typing import Any, Final

from redis.asyncio import ConnectionPool, Redis
from redis.asyncio.connection import Connection, SSLConnection
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import MasterNotFoundError
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from config.redis_address import SentinelAddress
from tracker.stores.redis.connection import SafeConnection

ANSWER_SECONDS: Final = 0.3
"""The time limit of one sentinel. Then the next is asked; the last to answer is first."""


class _PlainSentinelConnection(SafeConnection, Connection):
    pass


class _TlsSentinelConnection(SafeConnection, SSLConnection):
    pass


class Sentinels:
    """The sentinels of one address; `tls` has the options of encrypted connections to them."""

    def __init__(self, address: SentinelAddress, tls: dict[str, Any] | None = None) -> None:
        self._name = address.name
        options: dict[str, Any] = {
            "socket_timeout": ANSWER_SECONDS,
            "socket_connect_timeout": ANSWER_SECONDS,
            "retry": Retry(NoBackoff(), 0),
            "protocol": 2,
            **address.credentials,
            **(tls or {}),
            "connection_class": _PlainSentinelConnection if tls is None else _TlsSentinelConnection,
        }
        self._sentinels = [
            Redis.from_pool(ConnectionPool(host=host, port=port, **options))
            for host, port in address.sentinels
        ]

    async def primary(self) -> tuple[str, int]:
        """Return host and port. Raises MasterNotFoundError if no sentinel knows them."""
        errors = []
        for sentinel in tuple(self._sentinels):
            try:
                known: Any = await sentinel.sentinel_masters()
            except RedisError as error:
                errors.append(repr(error))
                continue
            state = known.get(self._name)
            if state and state["is_master"] and not (state["is_sdown"] or state["is_odown"]):
                others = [one for one in self._sentinels if one is not sentinel]
                self._sentinels = [sentinel, *others]
                return str(state["ip"]), int(state["port"])
        reasons = f": {', '.join(errors)}" if errors else ""
        raise MasterNotFoundError(f"No master found for {self._name!r}{reasons}")

    async def close(self) -> None:
        for sentinel in self._sentinels:
            await sentinel.aclose()
