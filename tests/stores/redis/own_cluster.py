"""A Redis Cluster of a test, on ports of its own."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from redis import Redis

from config.redis_address import cluster_address
from lab.processes import Process
from lab.redis_cluster import add_replica, cluster_redis, give_slots, is_formed
from tests.ports import free_port
from tests.stores.redis.own_redis import OwnRedis, own_redis, started
from tests.waiting import until
from tracker.stores.builtin.servers import redis_program
from tracker.stores.redis.hash_slots import slot_of

_PRIMARIES = 3
_FIRST_MAJOR = 7
"""The first version of Redis whose servers may have any port for their bus."""


class OwnCluster:
    """The servers of a cluster: the primaries at first, then a replica of each if there are any."""

    def __init__(self, servers: list[OwnRedis]) -> None:
        self.servers = servers

    @property
    def url(self) -> str:
        return "redis+cluster://" + ",".join(f"127.0.0.1:{one.port}" for one in self.servers)

    def primary_of(self, key: str) -> OwnRedis:
        """Return the server that has the key, as the cluster was formed."""
        return self.servers[slot_of(key) * _PRIMARIES // 16384]


@contextmanager
def own_cluster(folder: Path, replicas: bool = False) -> Iterator[OwnCluster]:
    """Run three primaries, with a replica each if wanted. The test is skipped on an old Redis."""
    with own_redis(folder.parent / "version") as one, Redis.from_url(one.url) as client:
        if int(client.info("server")["redis_version"].partition(".")[0]) < _FIRST_MAJOR:
            pytest.skip("this Redis has no --cluster-port")
    folder.mkdir(exist_ok=True)
    number = _PRIMARIES * (2 if replicas else 1)
    with ExitStack() as stack:
        servers = [
            stack.enter_context(started(_server(folder / str(one)))) for one in range(number)
        ]
        ports = [one.port for one in servers]
        give_slots(ports[:_PRIMARIES])
        until(lambda: is_formed(ports[:_PRIMARIES]))
        for replica, primary in zip(ports[_PRIMARIES:], ports, strict=False):
            add_replica(replica, primary)
        until(lambda: is_formed(ports))
        yield OwnCluster(servers)


def _server(folder: Path) -> Process:
    folder.mkdir()
    return Process(cluster_redis(redis_program(folder)), free_port())


def forget_everything(url: str) -> None:
    """Empty the Redis at `url`: one server, or all primaries of a cluster without replicas."""
    cluster = cluster_address(url)
    urls = [cluster.server_url(*one) for one in cluster.servers] if cluster else [url]
    for one in urls:
        with Redis.from_url(one) as client:
            client.flushall()
