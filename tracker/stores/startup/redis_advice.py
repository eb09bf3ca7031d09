"""Advice for a Redis whose settings could lose clicks, as far as Redis shows them."""

from typing import Any, Final

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from tracker.stores.redis.cluster import is_cluster, servers

_COVERAGE: Final = "cluster-require-full-coverage"


async def redis_advice(client: Redis, replicas: int = 0) -> list[str]:
    """Return a line for each risky setting. `replicas` must have a click before its answer."""
    lines = [line for one in await servers(client) for line in await _advice(one, replicas)]
    if is_cluster(client) and await _configured(client, _COVERAGE) == "yes":
        lines.append(
            f"{_COVERAGE} is on: while one part of the cluster has no primary, "
            "none takes clicks, and all go to the spool"
        )
    return list(dict.fromkeys(lines))


async def _advice(client: Redis, replicas: int) -> list[str]:
    persistence = await client.info("persistence")
    memory = await client.info("memory")
    advice = []
    if not persistence.get("aof_enabled"):
        advice.append("appendonly is off: a restart of Redis loses what is not yet drained")
    elif await _configured(client, "appendfsync") not in (None, "always"):
        advice.append(
            "appendfsync is not always: Redis killed while the disk is slow, or a loss of power, "
            "can lose clicks of the last seconds"
        )
    if memory.get("maxmemory_policy", "noeviction") != "noeviction":
        advice.append("maxmemory-policy is not noeviction: Redis may drop what is not yet drained")
    return advice + await _replication_advice(client, replicas)


async def _replication_advice(client: Redis, replicas: int) -> list[str]:
    connected = int((await client.info("replication")).get("connected_slaves", 0))
    if connected and not replicas:
        return [
            "Redis has replicas, but JOURNAL_REPLICAS is 0: a failover loses the clicks that the "
            "new primary does not have yet"
        ]
    if connected < replicas:
        return [
            f"JOURNAL_REPLICAS is {replicas}, but Redis has {connected} replicas: clicks go to the "
            "spool until it has more"
        ]
    return []


async def _configured(client: Redis, name: str) -> str | None:
    """Return a setting of Redis; None if Redis hides its configuration."""
    try:
        configured: Any = await client.config_get(name)
    except ResponseError:
        return None
    value: str | None = configured.get(name)
    return value
