"""The Redis servers of a run: one, or several that take over from each other."""

import random
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from redis import RedisError

from lab.chaos.mongods import Alone
from lab.processes import Process, free_ports
from lab.redis_cluster import add_replica, client_of, cluster_redis, give_slots, is_formed
from lab.redis_sentinel import SERVICE, sentinel
from tracker.stores.builtin.child import Program
from tracker.stores.builtin.servers import redis_program, redis_url
from tracker.stores.redis.keys import COPIES_FILLED

SERVERS: Final = 3
_QUORUM: Final = SERVERS // 2 + 1
_COPIES: Final = ("link:*", "domain:*", "event_config:*", "account:*")
_DOWN_MS: Final = 2000
"""Milliseconds without an answer after which a sentinel takes a server for dead."""


class SingleRedis(Alone):
    """One Redis."""

    actions: Sequence[str] = ("kill redis", "stop redis", "empty redis", "remove spool")
    journal_replicas = 0
    journal_partitions = 1

    def __init__(self, folder: Path) -> None:
        [port] = free_ports(1)
        self.url = redis_url(port)
        self.processes = [Process(redis_program(folder)._replace(name="redis"), port)]


class Replicated:
    """Three servers with three sentinels."""

    actions: Sequence[str] = (
        *("kill redis", "stop redis", "empty redis"),
        *("lag redis", "demote redis", "cut redis", "close redis"),
    )
    journal_replicas = 1
    journal_partitions = 2

    def __init__(self, folder: Path) -> None:
        ports = free_ports(2 * SERVERS)
        redis, self._sentinels = ports[:SERVERS], ports[SERVERS:]
        hosts = ",".join(f"127.0.0.1:{port}" for port in self._sentinels)
        self.url = f"redis+sentinel://{hosts}/{SERVICE}"
        self._servers = [
            Process(_replicated_redis(folder, number, port, redis[0]), port)
            for number, port in enumerate(redis, 1)
        ]
        self.processes = [
            *self._servers,
            *(
                sentinel(folder / f"sentinel {number}", port, redis[0], _QUORUM, _DOWN_MS, 6000)
                for number, port in enumerate(self._sentinels, 1)
            ),
        ]

    def prepare(self) -> None:
        """Do nothing: servers and sentinels are told of each other by their settings."""

    def is_complete(self) -> bool:
        """Return whether each sentinel knows the others, and two replicas in step."""
        with suppress(RedisError):
            for port in self._sentinels:
                with client_of(port) as client:
                    replicas: Any = client.sentinel_slaves(SERVICE)
                    others: Any = client.sentinel_sentinels(SERVICE)
                in_step = [one for one in replicas if one["master-link-status"] == "ok"]
                if len(in_step) < SERVERS - 1 or len(others) < SERVERS - 1:
                    return False
            return True
        return False

    def primary(self) -> Process:
        """Return the primary of the moment; any server while no sentinel answers."""
        for port in self._sentinels:
            with suppress(RedisError), client_of(port) as client:
                found: Any = client.sentinel_get_master_addr_by_name(SERVICE)
                return next(one for one in self._servers if one.port == int(found[1]))
        return random.choice(self._servers)  # noqa: S311

    def replicas(self, primary: Process) -> list[Process]:
        return [one for one in self._servers if one is not primary]

    def demote(self) -> None:
        with suppress(RedisError), client_of(self._sentinels[0]) as client:
            client.sentinel_failover(SERVICE)


class Cluster:
    """A cluster of three primaries with a replica each."""

    actions: Sequence[str] = (*Replicated.actions, "away redis")
    journal_replicas = 1
    journal_partitions = 6

    def __init__(self, folder: Path) -> None:
        ports = free_ports(2 * SERVERS)
        self.url = "redis+cluster://" + ",".join(f"127.0.0.1:{port}" for port in ports)
        self.processes = [
            Process(_cluster_redis(folder, number), port) for number, port in enumerate(ports, 1)
        ]

    def prepare(self) -> None:
        """Share out the slots among the first three servers, and make the others their replicas."""
        ports = [one.port for one in self.processes]
        give_slots(ports[:SERVERS])
        for replica, primary in zip(ports[SERVERS:], ports, strict=False):
            add_replica(replica, primary)

    def is_complete(self) -> bool:
        """Return whether every slot is served, and each primary has a replica in step."""
        if not is_formed([one.port for one in self.processes]):
            return False
        roles = [_role_of(one.port) for one in self.processes]
        return [len(role[2]) for role in roles if role[:1] == [b"master"]] == [1] * SERVERS

    def primary(self) -> Process:
        """Return any primary of the moment; any server while none answers."""
        primaries = [one for one in self.processes if _role_of(one.port)[:1] == [b"master"]]
        return random.choice(primaries or self.processes)  # noqa: S311

    def replicas(self, primary: Process) -> list[Process]:
        return [one for one in self.processes if self._follows(one.port, primary.port)]

    def demote(self) -> None:
        for replica in self.replicas(self.primary()):
            with suppress(RedisError), client_of(replica.port) as client:
                client.execute_command("CLUSTER", "FAILOVER")

    def _follows(self, replica: int, primary: int) -> bool:
        role = _role_of(replica)
        return role[:1] == [b"slave"] and int(role[2]) == primary


def empty(port: int) -> None:
    """Delete every copy of links and other things, and the note that they were stored."""
    with suppress(RedisError), client_of(port) as client:
        for pattern in (*_COPIES, COPIES_FILLED):
            for name in client.scan_iter(pattern, count=1000):
                client.unlink(name)


def cut(port: int) -> None:
    with suppress(RedisError), client_of(port) as client:
        client.client_kill_filter(_type="normal", skipme=True)


def _role_of(port: int) -> list[Any]:
    with suppress(RedisError), client_of(port) as client:
        return list(client.execute_command("ROLE"))
    return []


def _cluster_redis(folder: Path, number: int) -> Program:
    own = folder / f"redis {number}"
    own.mkdir()
    return cluster_redis(redis_program(own))._replace(name=own.name)


def _replicated_redis(folder: Path, number: int, port: int, first: int) -> Program:
    """Return a Redis with a file of settings, where sentinels note whose replica it is."""
    own = folder / f"redis {number}"
    own.mkdir()
    program = redis_program(own)
    settings = own / "redis.conf"
    settings.write_text(
        f'bind 127.0.0.1\nport {port}\ndir "{own}"\nsave ""\nappendonly yes\n'
        "appendfsync always\nmaxmemory-policy noeviction\nrepl-diskless-sync-delay 0\n"
        + (f"replicaof 127.0.0.1 {first}\n" if port != first else "")
    )
    command = [program.command(port)[0], str(settings)]
    return program._replace(name=own.name, command=lambda _: command)
