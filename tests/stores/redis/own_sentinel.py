"""A primary, a replica and a sentinel of a test, on ports of their own."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import redis

from lab.redis_sentinel import SERVICE, sentinel
from tests.ports import free_port
from tests.stores.redis.own_redis import OwnRedis, own_redis, started
from tests.waiting import until

DOWN_MS = 3000
"""Milliseconds without an answer after which the sentinel takes a server for dead. A busy machine
may be silent for one or two seconds."""


class Replicated:
    """The servers: `url` is that of the sentinel, `first` is the primary until one has failed."""

    def __init__(self, first: OwnRedis, second: OwnRedis, sentinel: OwnRedis) -> None:
        self.first = first
        self.second = second
        self.sentinel = sentinel

    @property
    def url(self) -> str:
        return f"redis+sentinel://127.0.0.1:{self.sentinel.port}/{SERVICE}"

    def fail_over(self) -> None:
        """Have the sentinel make the replica the primary."""
        with redis.Redis(port=self.sentinel.port) as client:
            client.sentinel_failover(SERVICE)


@contextmanager
def replicated(folder: Path) -> Iterator[Replicated]:
    """Run a primary with a replica that is in step, and a sentinel that knows both."""
    with ExitStack() as stack:
        at_once = ("--repl-diskless-sync-delay", "0")
        first = stack.enter_context(own_redis(folder / "first", *at_once))
        options = ("--replicaof", "127.0.0.1", str(first.port), *at_once)
        second = stack.enter_context(own_redis(folder / "second", *options))
        of_first = sentinel(folder / "sentinel", free_port(), first.port, 1, DOWN_MS, 5000)
        third = stack.enter_context(started(of_first))
        with redis.Redis(port=first.port) as client:
            while client.wait(1, 1000) < 1:
                client.set("in step", 1)
        with redis.Redis(port=third.port) as client:
            until(lambda: any(_is_in_step(one) for one in client.sentinel_slaves(SERVICE)))
        yield Replicated(first, second, third)


def _is_in_step(replica: dict[str, Any]) -> bool:
    return bool(replica["is_slave"] and replica["master-link-status"] == "ok")
