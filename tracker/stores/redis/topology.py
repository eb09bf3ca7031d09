"""The topology of a Redis Cluster: which server has which hash slot, and a client of each server.

- It is asked of all servers, once a second and after a failure. What most of them answer counts,
  because one that was cut off knows an old answer only.
- A server that has lost or gained slots is left: all connections to it are opened again at their
  next use (`stores/redis/pool`), so that nobody listens to one that others have left.
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
"""How long a server has to say which has which slot."""

_FOLLOW_SECONDS: Final = 1.0


class Topology:
    """The servers of the cluster that those at `seeds` belong to.

    `make_pool` makes the connections to a server from its address.
    """

    def __init__(self, seeds: Sequence[Address], make_pool: Callable[[str, int], Pool]) -> None:
        self._make_pool = make_pool
        self._seeds = seeds
        self._servers: dict[Address, Redis] = {}
        self._map: SlotMap = ()
        self._owners: list[Address | None] = []
        self._moved: dict[int, Address] = {}
        self._learning: asyncio.Task[None] | None = None

    def server(self, address: Address) -> Redis:
        """Return the client of a server."""
        if address not in self._servers:
            self._servers[address] = Redis.from_pool(self._make_pool(*address))
        return self._servers[address]

    async def server_of(self, key: bytes | str | None) -> Redis:
        """Return the client of the server that has `key`; of any server without one.

        Raises RedisConnectionError if no server has it, or none answers.
        """
        if not self._owners:
            await self._learn_shared()
        if key is None:
            return self.server(random.choice(self._primaries()))  # noqa: S311
        address = self._owners[slot_of(key)]
        if address is None:
            self.doubt()
            raise RedisConnectionError("no server of the cluster has the key")
        return self.server(address)

    async def primaries(self) -> list[Redis]:
        """Return the clients of all primaries. Raises RedisConnectionError if none answers."""
        if not self._owners:
            await self._learn_shared()
        return [self.server(one) for one in self._primaries()]

    def note(self, error: BaseException) -> bool:
        """Note an error of a server; return whether to send the command once more."""
        if isinstance(error, MovedError):
            # A slot that is on its way (ASK) stays where it is until then.
            slot, address = int(error.slot_id), (error.host, int(error.port))
            self._owners[slot] = self._moved[slot] = address
        self.doubt()
        return isinstance(error, MovedError)

    def doubt(self) -> None:
        """Ask again which server has which slot, while everything goes on."""
        if self._learning is None:
            self._learning = asyncio.get_running_loop().create_task(self._learn())
            self._learning.add_done_callback(self._learned)

    async def follow(self) -> None:
        """Ask once a second which server has which slot, until cancelled."""
        while True:
            with contextlib.suppress(RedisError):
                await self._learn_shared()
            await asyncio.sleep(_FOLLOW_SECONDS)

    async def close(self) -> None:
        """Close all connections."""
        if self._learning is not None:
            await cancel_and_wait(self._learning)
        for server in self._servers.values():
            await server.aclose()

    def _primaries(self) -> list[Address]:
        return list(dict.fromkeys(one.primary for one in self._map))

    async def _learn_shared(self) -> None:
        """Learn which server has which slot, together with others who want to know it.

        Raises RedisConnectionError if none answers.
        """
        self.doubt()
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
            # The answers are older than what MOVED told while they were on their way.
            self._owners[slot] = address
        for address in before:
            if before[address] != after.get(address):
                log.warning("Redis Cluster has changed", left=f"{address[0]}:{address[1]}")
                pool: Any = self.server(address).connection_pool
                pool.leave()
        known = {one for each in found for one in (each.primary, *each.replicas)}
        # Seeds stay: they may be names that others answer for.
        for address in self._servers.keys() - known - set(self._seeds):
            await self._servers.pop(address).aclose()
