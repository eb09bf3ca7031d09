"""The client of a Redis Cluster: each command goes to the server that has the hash slot of its key.

It has the interface of the client of one server, which it keeps for each server of the cluster, so
that timeouts, errors and bounds are the same. What one script or transaction touches is of one slot
(`stores/redis/keys`); a pipeline may be of many.

- The `Topology` knows which server has which slot.
- MOVED: the command is sent once more, to the server that it names. ASK: the same, only once.

The client library's own RedisCluster sends ASKING and the command that it allows over two
connections of the pool, so that the command may be refused. It raises errors that are no
RedisError, closes the connections to all servers when one of them refuses, loads a script into all
servers or none, and has no wait for a free connection. A hundred HGETs take it a third more
processor time.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from redis.asyncio import Redis
from redis.asyncio.client import Pipeline
from redis.commands.core import AsyncScript
from redis.exceptions import AskError, MovedError, NoScriptError, RedisError, ResponseError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from tracker.stores.redis.hash_slots import Address, key_of, slot_of
from tracker.stores.redis.pool import Pool
from tracker.stores.redis.topology import Topology


class ClusterRedis(Redis):
    """The client of the cluster that the servers at `seeds` belong to.

    `make_pool` makes the connections to a server from its address.
    """

    def __init__(self, seeds: Sequence[Address], make_pool: Callable[[str, int], Pool]) -> None:
        self.topology = Topology(seeds, make_pool)
        super().__init__(connection_pool=self.topology.server(seeds[0]).connection_pool)

    async def execute_command(self, *arguments: Any, **options: Any) -> Any:
        """Return the answer of the server that has the key. Raises RedisError if it fails."""
        server: Any = await self.topology.server_of(key_of(arguments))
        try:
            return await server.execute_command(*arguments, **options)
        except AskError as error:
            at: Any = self.topology.server((error.host, int(error.port)))
            if self.topology.note(error):
                return await at.execute_command(*arguments, **options)
            return await _asking(at, arguments, options)
        except (RedisConnectionError, RedisTimeoutError):
            self.topology.doubt()
            raise

    def pipeline(self, transaction: bool = True, shard_hint: str | None = None) -> Pipeline:
        """Return a pipeline; its commands may be of many servers, unless it is a transaction."""
        return _ClusterPipeline(self, transaction)

    def register_script(self, script: Any) -> AsyncScript:  # type: ignore[override]  # of Redis
        """Return a script that a server gets when it is first asked to run it."""
        return _Script(self, script)

    async def aclose(self, close_connection_pool: bool | None = None) -> None:
        """Close all connections."""
        await self.topology.close()


class _ClusterPipeline(Pipeline):
    """A pipeline whose commands go to their servers, all at once."""

    def __init__(self, cluster: ClusterRedis, transaction: bool) -> None:
        super().__init__(cluster.connection_pool, cluster.response_callbacks, transaction, None)
        self._cluster = cluster

    async def execute(self, raise_on_error: bool = True) -> list[Any]:
        """Return the answers in the order of the commands, as that of one server does."""
        stack, self.command_stack = self.command_stack, []
        places: defaultdict[Redis, list[int]] = defaultdict(list)
        for place, (arguments, _) in enumerate(stack):
            places[await self._cluster.topology.server_of(key_of(arguments))].append(place)
        parts = [self._part(server, [stack[one] for one in of]) for server, of in places.items()]
        answers: list[Any] = [None] * len(stack)
        for of, answered in zip(places.values(), await asyncio.gather(*parts), strict=True):
            for place, answer in zip(of, answered, strict=True):
                answers[place] = answer
        for place, (arguments, options) in enumerate(stack):
            if isinstance(answers[place], AskError) and not self.is_transaction:
                answers[place] = await _or_error(
                    self._cluster.execute_command(*arguments, **options)
                )
        errors = [one for one in answers if isinstance(one, Exception)]
        if errors and raise_on_error:
            raise errors[0]
        return answers

    async def _part(self, server: Redis, commands: list[Any]) -> list[Any]:
        part = server.pipeline(transaction=self.is_transaction)
        part.command_stack = commands
        try:
            answers: list[Any] = await part.execute(raise_on_error=False)
        except RedisError as error:
            self._cluster.topology.doubt()
            return [error] * len(commands)
        return answers


class _Script(AsyncScript):
    """A script that is sent as a whole to a server that does not know it."""

    async def __call__(self, keys: Any = None, args: Any = None, client: Any = None) -> Any:
        """Run the script on the server that has its keys. Raises RedisError if that fails."""
        keys = list(keys or ())
        cluster: Any = self.registered_client
        arguments = (len(keys), *keys, *(args or ()))
        try:
            return await cluster.evalsha(self.sha, *arguments)
        except NoScriptError:
            return await cluster.eval(self.script, *arguments)


async def _asking(server: Redis, arguments: Sequence[Any], options: dict[str, Any]) -> Any:
    """Execute a command on a server that is about to get the slot of its key."""
    pipeline = server.pipeline(transaction=False)
    pipeline.execute_command("ASKING")
    pipeline.execute_command(*arguments, **options)
    return (await pipeline.execute())[1]


async def _or_error(answer: Coroutine[Any, Any, Any]) -> Any:
    try:
        return await answer
    except RedisError as error:
        return error


def is_cluster(redis: Redis) -> bool:
    """Return whether keys may be on different servers."""
    return isinstance(redis, ClusterRedis)


def doubt(redis: Redis) -> None:
    """Ask again which server has which slot, if there are several: one of them failed."""
    if isinstance(redis, ClusterRedis):
        redis.topology.doubt()


def has_moved(redis: Redis, refusal: ResponseError) -> bool:
    """Return whether a refusal, such as MOVED 3999 127.0.0.1:6381, names another server now."""
    if not isinstance(redis, ClusterRedis):
        return False
    code, _, rest = str(refusal).partition(" ")
    return redis.topology.note(MovedError(rest) if code == "MOVED" else refusal)


async def server_of(redis: Redis, key: str) -> Redis:
    """Return the client of the server that has `key`. Raises RedisError if there is none."""
    return await redis.topology.server_of(key) if isinstance(redis, ClusterRedis) else redis


async def servers(redis: Redis) -> list[Redis]:
    """Return the clients of all servers that have keys. Raises RedisError if there is none."""
    return await redis.topology.primaries() if isinstance(redis, ClusterRedis) else [redis]


def in_one_slot(redis: Redis, names: Sequence[str]) -> list[list[int]]:
    """Return the places of those names that a script may take together, for each such group."""
    if not isinstance(redis, ClusterRedis):
        return [list(range(len(names)))]
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for place, name in enumerate(names):
        groups[slot_of(name)].append(place)
    return list(groups.values())
