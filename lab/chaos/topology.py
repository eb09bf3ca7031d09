"""The processes of a run: the service, and one of each store, or several that take over."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import structs

from config.settings import Settings
from lab.chaos.mongods import ReplicaSet, SingleMongod
from lab.chaos.redis_servers import Cluster, Replicated, SingleRedis
from lab.harness import wait_until
from lab.processes import NotReady, Process, free_ports, service_process

DRAINS: Final = ("drain 1", "drain 2")
"""Each takes over the entries of the other when that is dead."""

TOPOLOGIES: Final[
    dict[
        str,
        tuple[
            type[SingleRedis] | type[Replicated] | type[Cluster],
            type[SingleMongod] | type[ReplicaSet],
        ],
    ]
] = {
    "single": (SingleRedis, SingleMongod),
    "replicated": (Replicated, ReplicaSet),
    "cluster": (Cluster, ReplicaSet),
}

_START_SECONDS: Final = 60.0


def kinds_of(topology: str) -> tuple[str, ...]:
    """Return the kinds of disturbances: an action and its target each."""
    redis, mongod = TOPOLOGIES[topology]
    return ("kill web", "kill drain", "stop web", "stop drain", *redis.actions, *mongod.actions)


class Processes:
    """The processes of the service, `web` and DRAINS, and its stores, in a folder of their own."""

    def __init__(self, folder: Path, topology: str) -> None:
        redis, mongod = TOPOLOGIES[topology]
        self.redis, self.mongod = redis(folder), mongod(folder)
        self.stores = [*self.redis.processes, *self.mongod.processes]
        [web] = free_ports(1)
        self.settings = Settings(
            host="127.0.0.1",
            port=web,
            base_url=f"http://127.0.0.1:{web}",
            redis_url=self.redis.url,
            mongodb_uri=self.mongod.uri,
            journal_replicas=self.redis.journal_replicas,
            journal_partitions=self.redis.journal_partitions,
            data_dir=str(folder / "service"),
            # Visitors have addresses, by which the audit distinguishes them.
            trusted_proxies="1",
            store_ip=True,
            rate_limit_account_per_hour=0,
            # The receiver is on this machine.
            webhook_allow_private=True,
            log_level="warning",
        )
        # Drains log which entries they take over; the web process would log every request.
        talkative = structs.replace(self.settings, log_level="info")
        self.service = [
            service_process(folder, "web", "web", self.settings),
            *(service_process(folder, name, "drain", talkative) for name in DRAINS),
        ]

    def __iter__(self) -> Iterator[Process]:
        return iter([*self.stores, *self.service])

    async def named(self, name: str) -> Process:
        """Return a process of the service, or the primary of `redis` or `mongod`."""
        if found := next((one for one in self.service if one.name == name), None):
            return found
        store = self.redis if name == "redis" else self.mongod
        return await asyncio.to_thread(store.primary)

    async def prepare_stores(self) -> None:
        await asyncio.to_thread(self.redis.prepare)
        await asyncio.to_thread(self.mongod.prepare)
        await self.in_step()

    async def in_step(self) -> None:
        if not await wait_until(self._are_complete, _START_SECONDS):
            raise NotReady("the servers of a store are not in step")

    async def _are_complete(self) -> bool:
        checks = (self.redis.is_complete, self.mongod.is_complete)
        return all([await asyncio.to_thread(check) for check in checks])
