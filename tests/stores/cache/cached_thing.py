"""A cache of things, and the look-up that loads them."""

import asyncio
from collections.abc import Sequence
from typing import Any

from redis.asyncio import Redis

from tests.waiting import eventually
from tracker.limits.allowance import Allowance
from tracker.stores.breaker import Breaker
from tracker.stores.cache.cache import Cache, Versioned
from tracker.stores.cache.copies import Copies
from tracker.stores.cache.lookup import CacheLookup
from tracker.stores.cache.memory import TIMES
from tracker.stores.redis.memory_budget import Budget

NAME = "link:/a"


class Thing(Versioned, frozen=True, kw_only=True):
    text: str


OLD, NEW = Thing(version=1, text="old"), Thing(version=2, text="new")


class ThingLookup:
    """A look-up with the same thing under every name. Queries wait until `open` is set."""

    def __init__(self, thing: Thing | None) -> None:
        self.thing = thing
        self.error: Exception | None = None
        self.asked: list[str] = []
        self.questions: list[list[str]] = []
        self.open = asyncio.Event()
        self.open.set()

    async def find(self, names: Sequence[str]) -> dict[str, Thing]:
        self.asked += names
        self.questions.append(list(names))
        found = self.thing
        await self.open.wait()
        if self.error is not None:
            raise self.error
        return {} if found is None else dict.fromkeys(names, found)

    def value_of(self, found: Thing) -> Thing | None:
        return found

    async def asked_for(self, times: int) -> None:
        await eventually(lambda: len(self.asked) >= times)


def cached(
    redis: Redis,
    things: CacheLookup[Thing],
    max_values: int = 100,
    misses: Allowance | None = None,
    budget: Budget | None = None,
) -> Cache[Thing]:
    cache = Cache(Copies(redis, Breaker(), budget or Budget()), Thing, things, max_values, misses)
    cache.verified = True
    return cache


def aged(cache: Cache[Any], seconds: float) -> None:
    """Make each entry in memory `seconds` older."""
    memory = cache._memory
    for name, encoded in memory.values.items():
        loaded_at, ttl_seconds = TIMES.unpack_from(encoded)
        memory.values[name] = TIMES.pack(loaded_at - seconds, ttl_seconds) + encoded[TIMES.size :]
    for entries in (memory.decoded, memory.misses):
        for name, entry in entries.items():
            entries[name] = entry._replace(loaded_at=entry.loaded_at - seconds)
