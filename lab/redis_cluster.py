"""A Redis Cluster of servers that run on this machine: what forms it, and what it is like."""

import time
from collections.abc import Sequence
from typing import Any, Final

from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.exceptions import ResponseError
from redis.retry import Retry

from tracker.stores.builtin.child import Program
from tracker.stores.redis.hash_slots import SLOTS

NODE_TIMEOUT_MS: Final = 1000
"""Milliseconds without an answer after which servers take another for dead."""

_BUS_OFFSET: Final = -13_000
"""From a port to that on which a server speaks with the others: below those that the kernel gives
to outgoing connections, one of which could have it when a killed server starts again."""

_TIMEOUT_SECONDS: Final = 2.0
_MEET_SECONDS, _LOOK_SECONDS = 20.0, 0.02


def cluster_redis(program: Program) -> Program:

    def command(port: int) -> list[str]:
        return [
            *program.command(port),
            *("--cluster-enabled", "yes"),
            *("--cluster-port", str(port + _BUS_OFFSET)),
            *("--cluster-node-timeout", str(NODE_TIMEOUT_MS)),
            *("--cluster-require-full-coverage", "no"),
            *("--repl-diskless-sync-delay", "0"),
        ]

    return program._replace(command=command)


def client_of(port: int) -> Redis:
    once = Retry(NoBackoff(), 0)
    return Redis(host="127.0.0.1", port=port, socket_timeout=_TIMEOUT_SECONDS, retry=once)


def give_slots(primaries: Sequence[int]) -> None:
    """Share out all slots among the servers on these ports, and introduce them to each other."""
    for number, port in enumerate(primaries):
        first, end = (SLOTS * place // len(primaries) for place in (number, number + 1))
        with client_of(port) as client:
            client.execute_command("CLUSTER", "ADDSLOTS", *range(first, end))
            client.execute_command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            _meet(client, primaries[0])


def add_replica(port: int, of: int) -> None:
    """Make the server on `port` a replica of that on another, as soon as it knows it."""
    with client_of(of) as primary, client_of(port) as replica:
        owner = primary.execute_command("CLUSTER", "MYID")
        _meet(replica, of)
        deadline = time.monotonic() + _MEET_SECONDS
        while True:
            try:
                replica.execute_command("CLUSTER", "REPLICATE", owner)
            except ResponseError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(_LOOK_SECONDS)
            else:
                return


def _meet(client: Redis, port: int) -> None:
    address = "127.0.0.1", port, port + _BUS_OFFSET
    client.execute_command("CLUSTER", "MEET", *address)  # type: ignore[no-untyped-call]


def is_formed(ports: Sequence[int]) -> bool:
    """Return whether all servers know each other, all slots are served, and replicas follow."""
    try:
        return all(_is_ready(port, len(ports)) for port in ports)
    except RedisError:
        return False


def _is_ready(port: int, servers: int) -> bool:
    with client_of(port) as client:
        cluster: Any = client.execute_command("CLUSTER INFO")
        replication: Any = client.info("replication")
    return (
        cluster["cluster_state"] == "ok"
        and int(cluster["cluster_known_nodes"]) == servers
        and int(cluster["cluster_slots_ok"]) == SLOTS
        and replication.get("master_link_status", "up") == "up"
    )
