"""The topology of a Redis Cluster: which server has which hash slot.

All servers are asked, once a second and after a failure. The majority's answer counts, because an
isolated server has an old one. Connections to a server whose slots changed are opened again at
their next use.
"""

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

import structlog
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import MovedError, RedisError

from tracker.loops import cancel_and_wait
from tracker.stores.redis.hash_slots import Address, SlotMap, owners, ranges_of, slot_map, slot_of
from tracker.stores.redis.pool import Pool

log = structlog.get_logger(__name__)

_ANSWER_SECONDS: Final = 0.5

_FOLLOW_SECONDS: Final = 1.0


class Topology:
    """The servers of the cluster of `seeds`. `make_pool` makes the connections to a server."""

    def __init__(self, seeds: Sequence[Address], make_pool: Callable[[str, int], Pool]) -> None:
        self._make_pool = make_pool
        self._seeds = seeds
        self._servers: dict[Address, Redis] = {}
        self._map: SlotMap = ()
        self._owners: list[Address | None] = []
        self._moved: dict[int, Address] = {}
        self._learning: asyncio.Task[None] | None = None

    def server(self, address: Address) -> Redis:
        if address not in self._servers:
            self._servers[address] = Redis.from_pool(self._make_pool(*address))
        return self._servers[address]

    async def server_of(self, key: bytes | str | None) -> Redis:
        """Return the server of `key`, or any. Raises RedisConnectionError if there is none."""
        if not self._owners:
            await self._learn_shared()
        if key is None:
            return self.server(random.choice(self._primaries()))  # noqa: S311
        address = self._owners[slot_of(key)]
        if address is None:
            self.refresh()
            raise RedisConnectionError("no server of the cluster has the key")
        return self.server(address)

    async def primaries(self) -> list[Redis]:
        """Return the clients of all primaries. Raises RedisConnectionError if none answers."""
        if not self._owners:
            await self._learn_shared()
        return [self.server(one) for one in self._primaries()]

    def handle_redirect(self, error: BaseException) -> bool:
        """Store the new server of MOVED; return whether to send the command again."""
        if isinstance(error, MovedError):
            # After ASK, a slot that is moving stays where it is for now.
            slot, address = int(error.slot_id), (error.host, int(error.port))
            self._owners[slot] = self._moved[slot] = address
        self.refresh()
        return isinstance(error, MovedError)

    def refresh(self) -> None:
        """Ask for the slots again, in the background."""
        if self._learning is None:
            self._learning = asyncio.get_running_loop().create_task(self._learn())
            self._learning.add_done_callback(self._learned)

    async def follow(self) -> None:
        while True:
            with contextlib.suppress(RedisError):
                await self._learn_shared()
            await asyncio.sleep(_FOLLOW_SECONDS)

    async def close(self) -> None:
        if self._learning is not None:
            await cancel_and_wait(self._learning)
        for server in self._servers.values():
            await server.aclose()

    def _primaries(self) -> list[Address]:
        return list(dict.fromkeys(one.primary for one in self._map))

    async def _learn_shared(self) -> None:
        """Learn the slots, together with other callers."""
        self.refresh()
        assert self._learning is not None
        await asyncio.shield(self._learning)

    def _learned(self, task: asyncio.Task[None]) -> None:
        self._learning = None
        if not task.cancelled() and (error := task.exception()):
            log.debug("cluster not known", error=type(error).__name__)

    async def _learn(self) -> None:
        self._moved = {}
        known = {one for each in self._map for one in (each.primary, *each.replicas)}
        for addresses in filter(None, (known, self._seeds)):
            answers = await asyncio.gather(*map(self._ask, addresses), return_exceptions=True)
            maps = Counter(one for one in answers if not isinstance(one, BaseException))
            if maps:
                await self._use(maps.most_common(1)[0][0])
                return
        errors = [one for one in answers if isinstance(one, RedisError)]
        raise errors[0] if errors else RedisConnectionError("no server of the cluster answers")

    async def _ask(self, address: Address) -> SlotMap:
        async with asyncio.timeout(_ANSWER_SECONDS):
            pool: Any = self.server(address).connection_pool
            connection = await pool.get_connection()
            try:
                await connection.send_command("CLUSTER", "SLOTS")
                return slot_map(await connection.read_response(), address)
            except BaseException:
                await connection.disconnect(nowait=True)
                raise
            finally:
                await pool.release(connection)

    async def _use(self, found: SlotMap) -> None:
        before, after = ranges_of(self._map), ranges_of(found)
        self._map, self._owners = found, owners(found)
        for slot, address in self._moved.items():
            # A MOVED that came meanwhile is newer than the answers.
            self._owners[slot] = address
        for address in before:
            if before[address] != after.get(address):
                log.warning("Redis Cluster has changed", server=f"{address[0]}:{address[1]}")
                pool: Any = self.server(address).connection_pool
                pool.reopen_connections()
        known = {one for each in found for one in (each.primary, *each.replicas)}
        # Seeds stay: they may be names of other servers. A server that MOVED has named is in use.
        for address in self._servers.keys() - known - {*self._seeds, *self._moved.values()}:
            await self._servers.pop(address).aclose()
