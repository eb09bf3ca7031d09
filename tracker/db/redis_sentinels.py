"""The question to sentinels which server is the primary, asked for each new connection."""

from typing import Any, Final

from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel
from redis.backoff import NoBackoff

from config.redis_address import SentinelAddress

ANSWER_SECONDS: Final = 0.3
"""The time limit of one sentinel. Then the next is asked; the one that answered is first after."""


class Sentinels:
    """The sentinels of one address; `tls` are the options of encrypted connections to them."""

    def __init__(self, address: SentinelAddress, tls: dict[str, Any]) -> None:
        self._name = address.name
        self._sentinel: Any = Sentinel(  # type: ignore[no-untyped-call]
            address.sentinels,
            sentinel_kwargs={
                "socket_timeout": ANSWER_SECONDS,
                "socket_connect_timeout": ANSWER_SECONDS,
                "retry": Retry(NoBackoff(), 0),
                "protocol": 2,
                **address.credentials,
                **tls,
            },
        )

    async def primary(self) -> tuple[str, int]:
        """Return the host and the port of the primary.

        Raises MasterNotFoundError, which is a RedisError, if no sentinel knows one.
        """
        host, port = await self._sentinel.discover_master(self._name)
        return str(host), int(port)

    async def close(self) -> None:
        """Close the connections to the sentinels."""
        for sentinel in self._sentinel.sentinels:
            await sentinel.aclose()
