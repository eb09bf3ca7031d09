"""A connection of the Redis client that raises RedisError and OSError only.

uvloop raises RuntimeError if the other end closes a connection that is being set up.
"""

from collections.abc import Iterable
from typing import Any

from redis.asyncio.connection import AbstractConnection
from redis.exceptions import ConnectionError as RedisConnectionError


class SafeConnection(AbstractConnection):
    """A connection whose transport may be closed at any time."""

    async def connect_check_health(self, *arguments: Any, **options: Any) -> None:
        """Raises RedisConnectionError if the transport is closed."""
        try:
            await super().connect_check_health(*arguments, **options)
        except RuntimeError as error:
            await self.disconnect(nowait=True)
            raise RedisConnectionError(str(error)) from error

    async def send_packed_command(
        self, command: bytes | str | Iterable[bytes], check_health: bool = True
    ) -> None:
        """Raises RedisConnectionError if the transport is closed."""
        try:
            await super().send_packed_command(command, check_health)
        except RuntimeError as error:
            raise RedisConnectionError(str(error)) from error

    async def can_read(self) -> bool:
        """Raises RedisConnectionError if the transport is closed."""
        try:
            return bool(await super().can_read())
        except RuntimeError as error:
            raise RedisConnectionError(str(error)) from error

    async def read_response(self, *arguments: Any, **options: Any) -> Any:
        """Raises RedisConnectionError if the transport is closed."""
        try:
            return await super().read_response(*arguments, **options)
        except RuntimeError as error:
            raise RedisConnectionError(str(error)) from error
