"""The client of a Redis Cluster: each command goes to the server that has the hash slot of its key.

It has the interface of the client of one server, which it keeps for each server of the cluster, so
that timeouts, errors and bounds are the same. What one script or transaction touches is of one slot
(`stores/redis/keys`); a pipeline may be of many.

- Which server has which slot is asked of all servers, once a second and after a failure. What most
  of them answer counts, because one that was cut off knows an old answer only.
- MOVED: the command is sent once more, to the server that it names. ASK: the same, only once.
- A server that has lost or gained slots is left: all connections to it are opened again at their
  next use (`stores/redis/pool`), so that nobody listens to one that others have left.

The client library's own RedisCluster sends ASKING and the command that it allows over two
connections of the pool, so that the command may be refused. It raises errors that are no
RedisError, closes the connections to all servers when one of them refuses, loads a script into all
servers or none, and has no wait for a free connection. A hundred HGETs take it a third more
processor time.
"""

import asyncio
import contextlib
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

import structlog
from redis.asyncio import Redis
from redis.asyncio.client import Pipeline
from redis.commands.core import AsyncScript
from redis.exceptions import AskError, MovedError, NoScriptError, RedisError, ResponseError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from tracker.loops import cancel_and_wait
from tracker.stores.redis.hash_slots import (
    Address,
    SlotMap,
    key_of,
    owners,
    ranges_of,
    slot_map,
    slot_of,
)
from tracker.stores.redis.pool import Pool

log = structlog.get_logger(__name__)

_ANSWER_SECONDS: Final = 0.5
"""How long a server has to say which has which slot."""

FOLLOW_SECONDS: Final = 1.0


class ClusterRedis(Redis):
    """The client of the cluster that the servers at `seeds` belong to.

    `make_pool` makes the connections to a server from its address.
    """

    def __init__(self, seeds: Sequence[Address], make_pool: Callable[[str, int], Pool]) -> None:
        self._make_pool = make_pool
        self._seeds = seeds
        self._servers: dict[Address, Redis] = {}
        self._map: SlotMap = ()
        self._owners: list[Address | None] = []
        self._learning: asyncio.Task[None] | None = None
        super().__init__(connection_pool=self._server(seeds[0]).connection_pool)

    async def execute_command(self, *arguments: Any, **options: Any) -> Any:
        """Return the answer of the server that has the key. Raises RedisError if it fails."""
        return await self._execute(await self.server_of(key_of(arguments)), arguments, options)

    def pipeline(self, transaction: bool = True, shard_hint: str | None = None) -> Pipeline:
        """Return a pipeline; its commands may be of many servers, unless it is a transaction."""
        return _ClusterPipeline(self, transaction)

    def register_script(self, script: Any) -> AsyncScript:  # type: ignore[override]  # of Redis
        """Return a script that a server gets when it is first asked to run it."""
        return _Script(self, script)

    async def server_of(self, key: bytes | str | None) -> Redis:
        """Return the client of the server that has `key`; of any server without one.

        Raises RedisConnectionError if no server has it, or none answers.
        """
        if not self._owners:
            await self._learn_shared()
        if key is None:
            return self._server(random.choice(self._primaries()))  # noqa: S311
        address = self._owners[slot_of(key)]
        if address is None:
            self.doubt()
            raise RedisConnectionError("no server of the cluster has the key")
        return self._server(address)

    async def primaries(self) -> list[Redis]:
        """Return the clients of all primaries. Raises RedisConnectionError if none answers."""
        if not self._owners:
            await self._learn_shared()
        return [self._server(one) for one in self._primaries()]

    def note(self, error: BaseException) -> bool:
        """Note an error of a server; return whether to send the command once more."""
        if isinstance(error, MovedError):
            # A slot that is on its way (ASK) stays where it is until then.
            self._owners[int(error.slot_id)] = (error.host, int(error.port))
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
            await asyncio.sleep(FOLLOW_SECONDS)

    async def aclose(self, close_connection_pool: bool | None = None) -> None:
        """Close all connections."""
        if self._learning is not None:
            await cancel_and_wait(self._learning)
        for server in self._servers.values():
            await server.aclose()

    async def _execute(self, server: Any, arguments: Sequence[Any], options: dict[str, Any]) -> Any:
        try:
            return await server.execute_command(*arguments, **options)
        except AskError as error:
            at: Any = self._server((error.host, int(error.port)))
            if self.note(error):
                return await at.execute_command(*arguments, **options)
            return await _asking(at, arguments, options)
        except (RedisConnectionError, RedisTimeoutError):
            self.doubt()
            raise

    def _primaries(self) -> list[Address]:
        return list(dict.fromkeys(one.primary for one in self._map))

    def _server(self, address: Address) -> Redis:
        if address not in self._servers:
            self._servers[address] = Redis.from_pool(self._make_pool(*address))
        return self._servers[address]

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
            pool: Any = self._server(address).connection_pool
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
        for address in before:
            if before[address] != after.get(address):
                log.warning("Redis Cluster has changed", left=f"{address[0]}:{address[1]}")
                pool: Any = self._server(address).connection_pool
                pool.leave()
        known = {one for each in found for one in (each.primary, *each.replicas)}
        # Seeds stay: they may be names that others answer for.
        for address in self._servers.keys() - known - set(self._seeds):
            await self._servers.pop(address).aclose()


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
            places[await self._cluster.server_of(key_of(arguments))].append(place)
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
            self._cluster.doubt()
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
        redis.doubt()


def has_moved(redis: Redis, refusal: ResponseError) -> bool:
    """Return whether a refusal, such as MOVED 3999 127.0.0.1:6381, names another server now."""
    if not isinstance(redis, ClusterRedis):
        return False
    code, _, rest = str(refusal).partition(" ")
    return redis.note(MovedError(rest) if code == "MOVED" else refusal)


async def server_of(redis: Redis, key: str) -> Redis:
    """Return the client of the server that has `key`. Raises RedisError if there is none."""
    return await redis.server_of(key) if isinstance(redis, ClusterRedis) else redis


async def servers(redis: Redis) -> list[Redis]:
    """Return the clients of all servers that have keys. Raises RedisError if there is none."""
    return await redis.primaries() if isinstance(redis, ClusterRedis) else [redis]


def in_one_slot(redis: Redis, names: Sequence[str]) -> list[list[int]]:
    """Return the places of those names that a script may take together, for each such group."""
    if not isinstance(redis, ClusterRedis):
        return [list(range(len(names)))]
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for place, name in enumerate(names):
        groups[slot_of(name)].append(place)
    return list(groups.values())
