"""The rule of `/readyz`: which parts of a process are degraded, and whether it can still serve.

- `redis` alone: the spool takes records, and MongoDB has the links.
- `mongodb` alone: Redis has the links; the API and the drain wait, as they do for `indexes`.
- `redis` and `spool`: nothing can be recorded.
- `redis` and `mongodb`: only links and postback keys in memory are found.
- `event_ids`: postbacks are refused.
- `loops`: nothing at once, because a loop that failed is started again.
- `stop`: the process was told to stop, and serves what still arrives.

A process that only drains reports neither spool nor event ids, and is never unready.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from redis.exceptions import OutOfMemoryError, ResponseError

from tracker.service.services import Services
from tracker.stores.redis.clients import check_writable

PROBE_TIMEOUT_SECONDS: Final = 0.8
"""The default timeout of a Kubernetes probe is 1 s."""

Degraded = Mapping[str, str]
"""The reasons by degraded part; healthy parts are left out."""


def why_unready(degraded: Degraded) -> str:
    """Return why requests should go to another process; empty if they need not."""
    bad = degraded.keys()
    if {"redis", "spool"} <= bad:
        return "visitors and postbacks cannot be served"
    reasons = ["the process stops, and serves what still arrives"] if "stop" in bad else []
    if {"redis", "mongodb"} <= bad:
        reasons.append("only links and postback keys in memory are found")
    if "event_ids" in bad:
        reasons.append("postbacks cannot be served")
    return "; ".join(reasons)


async def degraded_parts(services: Services) -> dict[str, str]:
    """Probe every part at once. A part slower than PROBE_TIMEOUT_SECONDS is degraded."""
    checks: dict[str, Callable[[], Awaitable[str]]] = {
        "redis": lambda: _redis(services),
        "mongodb": lambda: _mongodb(services),
    }
    if services.serves:
        checks["spool"] = lambda: _spool(services)
    found = await asyncio.gather(*(_in_time(check) for check in checks.values()))
    reasons = dict(zip(checks, found, strict=True))
    if not services.prepared.is_set():
        reasons["indexes"] = "not made yet"
    if services.serves and reasons["mongodb"] and not services.conversions.event_ids.has_ids:
        reasons["event_ids"] = "none left, and MongoDB has to give more"
    reasons["loops"] = ", ".join(services.loops.down)
    if services.is_stopping:
        reasons["stop"] = "begun"
    return {part: reason for part, reason in reasons.items() if reason}


async def _in_time(check: Callable[[], Awaitable[str]]) -> str:
    try:
        async with asyncio.timeout(PROBE_TIMEOUT_SECONDS):
            return await check()
    except Exception:
        return "no answer"


async def _redis(services: Services) -> str:
    try:
        await check_writable(services.stores.redis)
    except OutOfMemoryError:
        return "full: it refuses writes"
    except ResponseError as error:
        return f"refuses writes: {error.status_code or 'ERR'}"
    return ""


async def _mongodb(services: Services) -> str:
    hello = await services.stores.mongodb.database.command("hello")
    return "" if hello.get("isWritablePrimary") else "not a primary"


async def _spool(services: Services) -> str:
    try:
        await services.journal.journal.spool.check()
    except OSError as error:
        return error.strerror or str(error)
    return ""
