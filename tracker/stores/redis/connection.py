"""A connection of the Redis client that raises RedisError and OSError only.

uvloop raises RuntimeError for a connection that the other end closed while it was being set up, as
a balancer without a backend does. It becomes a ConnectionError.
"""

from collections.abc import Iterable
from typing import Any

from redis.asyncio.connection import AbstractConnection
from redis.exceptions import ConnectionError as RedisConnectionError


class SafeConnection(AbstractConnection):
    """A connection whose transport may be closed at any time."""

    async def connect_check_health(self, *arguments: Any, **options: Any) -> None:
        """Connect if needed. Raises RedisConnectionError if the transport is closed already."""
        try:
            await super().connect_check_health(*arguments, **options)
        except RuntimeError as error:
            await self.disconnect(nowait=True)
            raise RedisConnectionError(str(error)) from error

    async def send_packed_command(
        self, command: bytes | str | Iterable[bytes], check_health: bool = True
    ) -> None:
        """Send a command. Raises RedisConnectionError if the transport is closed already."""
        try:
            await super().send_packed_command(command, check_health)
        except RuntimeError as error:
            raise RedisConnectionError(str(error)) from error

    async def can_read(self) -> bool:
        """Return whether a reply came. Raises RedisConnectionError if the transport is closed."""
        try:
            return bool(await super().can_read())
        except RuntimeError as error:
            raise RedisConnectionError(str(error)) from error

    async def read_response(self, *arguments: Any, **options: Any) -> Any:
        """Return the next reply. Raises RedisConnectionError if the transport is closed already."""
        try:
            return await super().read_response(*arguments, **options)
        except RuntimeError as error:
            raise RedisConnectionError(str(error)) from error
