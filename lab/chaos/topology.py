"""The stores of a run: one Redis and one mongod, or three of each that take over from each other.

A store is named `redis` or `mongod` in disturbances; with three of each that is the primary of the
moment. Every server keeps its address and its folder when it is killed and started again.
"""

import asyncio
import random
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from pymongo import MongoClient
from pymongo.errors import PyMongoError
from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.retry import Retry

from lab.harness import wait_until
from lab.processes import NotReady, Process, free_ports
from tracker.builtin.child import Program
from tracker.builtin.servers import (
    REPLICA_SET,
    mongod_program,
    mongodb_uri,
    redis_program,
    redis_url,
)

_NAME: Final = "primary"
_SERVERS: Final = 3
_DOWN_MS: Final = 2000
"""Milliseconds without an answer after which a sentinel takes a server for dead."""

_START_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 0.1
_TIMEOUT_SECONDS: Final = 2.0


class Single:
    """One Redis and one mongod."""

    actions: Sequence[str] = ("kill redis", "kill mongod", "stop redis", "stop mongod")
    journal_replicas = 0
    journal_partitions = 1

    def __init__(self, folder: Path, appendfsync: str) -> None:
        redis, mongod = free_ports(2)
        self.redis_url, self.mongodb_uri = redis_url(redis), mongodb_uri(mongod)
        self.processes = [
            Process(_redis(folder, appendfsync), redis),
            Process(mongod_program(folder)._replace(name="mongod"), mongod),
        ]

    async def prepare(self) -> None:
        """Do nothing: both are ready when they have started."""

    async def primary(self, store: str) -> Process:
        """Return the only server of this store."""
        return next(one for one in self.processes if one.name == store)

    async def replicas(self, store: str) -> list[Process]:
        """Return none."""
        return []

    async def demote(self, store: str) -> None:
        """Do nothing: nobody could take over."""

    async def cut(self, store: str) -> None:
        """Do nothing."""


class Replicated:
    """Three Redis with three sentinels, and a replica set of three mongods."""

    actions: Sequence[str] = (
        *Single.actions,
        *("lag redis", "demote redis", "cut redis", "demote mongod"),
    )
    journal_replicas = 1
    journal_partitions = 2

    def __init__(self, folder: Path, appendfsync: str) -> None:
        ports = free_ports(3 * _SERVERS)
        redis, sentinels, mongods = (ports[at : at + _SERVERS] for at in range(0, len(ports), 3))
        self._sentinels, self._mongods = sentinels, mongods
        hosts = ",".join(f"127.0.0.1:{port}" for port in sentinels)
        self.redis_url = f"redis+sentinel://{hosts}/{_NAME}"
        members = ",".join(f"127.0.0.1:{port}" for port in mongods)
        self.mongodb_uri = f"mongodb://{members}/?replicaSet={REPLICA_SET}"
        self.processes = [
            *(
                Process(_replicated_redis(folder, number, port, redis[0], appendfsync), port)
                for number, port in enumerate(redis, 1)
            ),
            *(
                Process(_sentinel(folder, number, port, redis[0]), port)
                for number, port in enumerate(sentinels, 1)
            ),
            *(Process(_member(folder, number), port) for number, port in enumerate(mongods, 1)),
        ]

    async def prepare(self) -> None:
        """Make the replica set, and wait until both stores have a primary with its replicas.

        Raises NotReady if they do not have it in time.
        """
        await asyncio.to_thread(_initiate, self._mongods)
        if not await wait_until(self._is_complete, _START_SECONDS, _LOOK_SECONDS):
            raise NotReady("a store has no primary with two replicas")

    async def primary(self, store: str) -> Process:
        """Return the primary of the moment; any server of the store while there is none."""
        servers = [one for one in self.processes if one.name.startswith(f"{store} ")]
        port = await asyncio.to_thread(self._port_of_primary, store)
        found = [one for one in servers if one.port == port]
        return found[0] if found else random.choice(servers)  # noqa: S311

    async def replicas(self, store: str) -> list[Process]:
        """Return the servers of the store that are not its primary."""
        primary = await self.primary(store)
        servers = [one for one in self.processes if one.name.startswith(f"{store} ")]
        return [one for one in servers if one is not primary]

    async def demote(self, store: str) -> None:
        """Have another server take over, if one can now."""
        await asyncio.to_thread(self._demote, store)

    async def cut(self, store: str) -> None:
        """Cut every connection to the primary of Redis."""
        process = await self.primary(store)
        await asyncio.to_thread(_cut, process.port)

    async def _is_complete(self) -> bool:
        return await asyncio.to_thread(self._are_in_step)

    def _are_in_step(self) -> bool:
        with suppress(RedisError, PyMongoError):
            for port in self._sentinels:
                with _redis_client(port) as client:
                    replicas: Any = client.sentinel_slaves(_NAME)
                    others: Any = client.sentinel_sentinels(_NAME)
                in_step = [one for one in replicas if one["master-link-status"] == "ok"]
                if len(in_step) < _SERVERS - 1 or len(others) < _SERVERS - 1:
                    return False
            states = [_hello(port) for port in self._mongods]
            primaries = [one for one in states if one.get("isWritablePrimary")]
            return len(primaries) == 1 and sum(one.get("secondary", 0) for one in states) == 2
        return False

    def _port_of_primary(self, store: str) -> int | None:
        if store == "mongod":
            for port in self._mongods:
                with suppress(PyMongoError):
                    if _hello(port).get("isWritablePrimary"):
                        return port
            return None
        for port in self._sentinels:
            with suppress(RedisError), _redis_client(port) as client:
                found: Any = client.sentinel_get_master_addr_by_name(_NAME)
                return int(found[1])
        return None

    def _demote(self, store: str) -> None:
        with suppress(RedisError, PyMongoError):
            if store == "redis":
                with _redis_client(self._sentinels[0]) as client:
                    client.sentinel_failover(_NAME)
            elif port := self._port_of_primary(store):
                with _mongo_client(port) as mongod:
                    mongod.admin.command({"replSetStepDown": 10})


def _redis(folder: Path, appendfsync: str) -> Program:
    program = redis_program(folder)

    def command(port: int) -> list[str]:
        return [*program.command(port), "--appendfsync", appendfsync]

    return program._replace(name="redis", command=command)


def _replicated_redis(
    folder: Path, number: int, port: int, first: int, appendfsync: str
) -> Program:
    """Return a Redis with a file of settings, where sentinels note whose replica it is."""
    own = folder / f"redis {number}"
    own.mkdir()
    program = redis_program(own)
    settings = own / "redis.conf"
    settings.write_text(
        f'bind 127.0.0.1\nport {port}\ndir "{own}"\nsave ""\nappendonly yes\n'
        f"appendfsync {appendfsync}\nmaxmemory-policy noeviction\nrepl-diskless-sync-delay 0\n"
        + (f"replicaof 127.0.0.1 {first}\n" if port != first else "")
    )

    def command(port: int) -> list[str]:
        return [program.command(port)[0], str(settings)]

    return program._replace(name=f"redis {number}", command=command)


def _sentinel(folder: Path, number: int, port: int, first: int) -> Program:
    own = folder / f"sentinel {number}"
    own.mkdir()
    program = redis_program(own)
    settings = own / "sentinel.conf"
    settings.write_text(
        f'bind 127.0.0.1\nport {port}\ndir "{own}"\n'
        f"sentinel monitor {_NAME} 127.0.0.1 {first} {_SERVERS // 2 + 1}\n"
        f"sentinel down-after-milliseconds {_NAME} {_DOWN_MS}\n"
        f"sentinel failover-timeout {_NAME} 6000\n"
    )

    def command(port: int) -> list[str]:
        return [program.command(port)[0], str(settings), "--sentinel"]

    def is_ready(port: int, pid: int) -> bool:
        with suppress(RedisError), _redis_client(port) as client:
            return bool(client.ping())
        return False

    return program._replace(name=f"sentinel {number}", command=command, is_ready=is_ready)


def _member(folder: Path, number: int) -> Program:
    own = folder / f"mongod {number}"
    own.mkdir()

    def is_ready(port: int, pid: int) -> bool:
        with suppress(PyMongoError):
            return bool(_hello(port))
        return False

    return mongod_program(own)._replace(name=f"mongod {number}", is_ready=is_ready)


def _initiate(ports: Sequence[int]) -> None:
    members = [{"_id": number, "host": f"127.0.0.1:{port}"} for number, port in enumerate(ports)]
    with _mongo_client(ports[0]) as client:
        client.admin.command({"replSetInitiate": {"_id": REPLICA_SET, "members": members}})


def _hello(port: int) -> dict[str, Any]:
    with _mongo_client(port) as client:
        return client.admin.command("hello")


def _cut(port: int) -> None:
    with suppress(RedisError), _redis_client(port) as client:
        client.client_kill_filter(_type="normal", skipme=True)


def _redis_client(port: int) -> Redis:
    once = Retry(NoBackoff(), 0)
    return Redis(host="127.0.0.1", port=port, socket_timeout=_TIMEOUT_SECONDS, retry=once)


def _mongo_client(port: int) -> MongoClient[dict[str, Any]]:
    milliseconds = int(_TIMEOUT_SECONDS * 1000)
    return MongoClient(mongodb_uri(port), serverSelectionTimeoutMS=milliseconds)


Topology = Single | Replicated

TOPOLOGIES: Final[dict[str, type[Single] | type[Replicated]]] = {
    "single": Single,
    "replicated": Replicated,
}
