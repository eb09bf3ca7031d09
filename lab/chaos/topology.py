"""The stores of a run: one of each, or several of each that take over from each other.

A store is named `redis` or `mongod` in disturbances; with several that is a primary of the moment.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from lab.chaos.mongods import ReplicaSet, SingleMongod
from lab.chaos.redis_servers import Cluster, Replicated, SingleRedis, cut, empty
from lab.harness import wait_until
from lab.processes import NotReady, Process

_START_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 0.1


class Kind(NamedTuple):
    """What stores a topology has."""

    redis: type[SingleRedis] | type[Replicated] | type[Cluster]
    mongod: type[SingleMongod] | type[ReplicaSet]

    @property
    def actions(self) -> tuple[str, ...]:
        """Return what may be done to the stores."""
        return (*self.redis.actions, *self.mongod.actions)


TOPOLOGIES: Final = {
    "single": Kind(SingleRedis, SingleMongod),
    "replicated": Kind(Replicated, ReplicaSet),
    "cluster": Kind(Cluster, ReplicaSet),
}


class Topology:
    """The stores of one run, in a folder of their own."""

    def __init__(self, kind: Kind, folder: Path) -> None:
        self.actions = kind.actions
        self.redis = kind.redis(folder)
        self.mongod = kind.mongod(folder)
        self.processes = [*self.redis.processes, *self.mongod.processes]

    async def prepare(self) -> None:
        """Make one of the servers of each store, and wait until they are in step.

        Raises NotReady if they are not in time.
        """
        await asyncio.to_thread(self.redis.prepare)
        await asyncio.to_thread(self.mongod.prepare)
        await self.in_step()

    async def in_step(self) -> None:
        """Wait until the servers of both stores are in step. Raises NotReady if they never are."""
        if not await wait_until(self._is_complete, _START_SECONDS, _LOOK_SECONDS):
            raise NotReady("the servers of a store are not in step")

    async def primary(self, store: str) -> Process:
        return await asyncio.to_thread((self.redis if store == "redis" else self.mongod).primary)

    async def replicas(self, primary: Process) -> list[Process]:
        return await asyncio.to_thread(self.redis.replicas, primary)

    async def demote(self, store: str) -> None:
        await asyncio.to_thread((self.redis if store == "redis" else self.mongod).demote)

    async def cut(self, process: Process) -> None:
        await asyncio.to_thread(cut, process.port)

    async def empty(self, process: Process) -> None:
        """Delete the copies in a Redis, but nothing that is not stored elsewhere."""
        await asyncio.to_thread(empty, process.port)

    async def _is_complete(self) -> bool:
        checks: list[Callable[[], bool]] = [self.redis.is_complete, self.mongod.is_complete]
        return all([await asyncio.to_thread(check) for check in checks])
