"""The client of a Redis Cluster: each command goes to the server that has its key's hash slot.

Keys of one script or transaction share a slot (`stores/redis/keys`); a pipeline may have many.
After MOVED or ASK the command is sent once more.

The client library's RedisCluster sends ASKING and its command over two connections, so that the
command may be refused. It raises errors that are no RedisError, and has no wait for a free
connection. A hundred HGETs take it a third more processor time.
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
    """The client of the cluster of `seeds`. `make_pool` makes the connections to a server."""

    def __init__(self, seeds: Sequence[Address], make_pool: Callable[[str, int], Pool]) -> None:
        self.topology = Topology(seeds, make_pool)
        super().__init__(connection_pool=self.topology.server(seeds[0]).connection_pool)

    async def execute_command(self, *arguments: Any, **options: Any) -> Any:
        server: Any = await self.topology.server_of(key_of(arguments))
        try:
            return await server.execute_command(*arguments, **options)
        except AskError as error:
            at: Any = self.topology.server((error.host, int(error.port)))
            if self.topology.handle_redirect(error):
                return await at.execute_command(*arguments, **options)
            return await _asking(at, arguments, options)
        except (RedisConnectionError, RedisTimeoutError):
            self.topology.refresh()
            raise

    def pipeline(self, transaction: bool = True, shard_hint: str | None = None) -> Pipeline:
        """Return a pipeline. Unless it is a transaction, its commands may go to many servers."""
        return _ClusterPipeline(self, transaction)

    def register_script(self, script: Any) -> AsyncScript:  # type: ignore[override]  # of Redis
        return _Script(self, script)

    async def aclose(self, close_connection_pool: bool | None = None) -> None:
        await self.topology.close()


class _ClusterPipeline(Pipeline):
    def __init__(self, cluster: ClusterRedis, transaction: bool) -> None:
        super().__init__(cluster.connection_pool, cluster.response_callbacks, transaction, None)
        self._cluster = cluster

    async def execute(self, raise_on_error: bool = True) -> list[Any]:
        stack, self.command_stack = self.command_stack, []
        indexes: defaultdict[Redis, list[int]] = defaultdict(list)
        for index, (arguments, _) in enumerate(stack):
            indexes[await self._cluster.topology.server_of(key_of(arguments))].append(index)
        parts = [self._part(server, [stack[one] for one in of]) for server, of in indexes.items()]
        answers: list[Any] = [None] * len(stack)
        for of, answered in zip(indexes.values(), await asyncio.gather(*parts), strict=True):
            for index, answer in zip(of, answered, strict=True):
                answers[index] = answer
        for index, (arguments, options) in enumerate(stack):
            if isinstance(answers[index], AskError) and not self.is_transaction:
                answers[index] = await _or_error(
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
            self._cluster.topology.refresh()
            return [error] * len(commands)
        return answers


class _Script(AsyncScript):
    """A script that is sent whole to a server without it."""

    async def __call__(self, keys: Any = None, args: Any = None, client: Any = None) -> Any:
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
    return isinstance(redis, ClusterRedis)


def refresh_slots(redis: Redis) -> None:
    """Ask for the slots again after a server has failed."""
    if isinstance(redis, ClusterRedis):
        redis.topology.refresh()


def has_moved(redis: Redis, refusal: ResponseError) -> bool:
    """Return whether a refusal names another server, such as MOVED 3999 127.0.0.1:6381."""
    if not isinstance(redis, ClusterRedis):
        return False
    code, _, rest = str(refusal).partition(" ")
    return redis.topology.handle_redirect(MovedError(rest) if code == "MOVED" else refusal)


async def server_of(redis: Redis, key: str) -> Redis:
    """Return the client of the server that has `key`."""
    return await redis.topology.server_of(key) if isinstance(redis, ClusterRedis) else redis


async def servers(redis: Redis) -> list[Redis]:
    """Return the clients of all servers that have keys."""
    return await redis.topology.primaries() if isinstance(redis, ClusterRedis) else [redis]


def in_one_slot(redis: Redis, names: Sequence[str]) -> list[list[int]]:
    """Return the indexes of the names in groups that a script may take together."""
    if not isinstance(redis, ClusterRedis):
        return [list(range(len(names)))]
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for index, name in enumerate(names):
        groups[slot_of(name)].append(index)
    return list(groups.values())
