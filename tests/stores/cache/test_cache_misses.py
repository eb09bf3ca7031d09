"""Clients that ask for too much that does not exist share a small part of the look-ups."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from tests.stores.cache.cached_thing import NAME, OLD, ThingLookup, aged, cached
from tracker.errors import RateLimited
from tracker.limits.allowance import Allowance
from tracker.metrics import LOOK_UPS_SHARED
from tracker.service.services import Services
from tracker.stores.cache import lookup, memory

pytestmark = [pytest.mark.redis, pytest.mark.usefixtures("long_memory")]


async def test_misses_push_no_value_out_of_memory(services: Services) -> None:
    things = ThingLookup(OLD)
    cache = cached(services.stores.redis, things, max_values=10)
    await cache.get(NAME)
    things.thing = None
    for number in range(50):
        await cache.get(f"link:/{number}")
    assert cache.peek(NAME) is not None
    assert len(cache._memory.misses) == 2


STRANGER, VISITOR = "203.0.113.7", "203.0.113.8"


async def test_a_client_that_asks_for_too_many_unknown_names_waits_in_a_share(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookup, "SHARED_REST_SECONDS", 0)
    things = ThingLookup(None)
    cache = cached(services.stores.redis, things, misses=Allowance(5, now=lambda: 0.0))
    for number in range(5):
        assert await cache.get(f"link:/first-{number}", STRANGER) is None
    before = LOOK_UPS_SHARED.labels("answered")._value.get()
    names = [f"link:/{number}" for number in range(250)]
    assert await asyncio.gather(*(cache.get(name, STRANGER) for name in names)) == [None] * 250
    assert [len(question) for question in things.questions[5:]] == [100, 100, 50]
    assert LOOK_UPS_SHARED.labels("answered")._value.get() == before + 250
    # Redis keeps no misses of names that a stranger invents.
    assert not await services.stores.redis.exists(*names)


async def test_a_known_name_is_found_even_for_a_client_beyond_its_allowance(
    services: Services,
) -> None:
    misses = Allowance(1, now=lambda: 0.0)
    misses.use(STRANGER)
    cache = cached(services.stores.redis, ThingLookup(OLD), misses=misses)
    assert await cache.get(NAME, STRANGER) == OLD
    assert await services.stores.redis.exists(NAME)
    assert await cache.get(NAME, STRANGER) == OLD


async def test_others_do_not_wait_for_the_share(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    rested = asyncio.Event()

    async def query_and_rest(queries: lookup.BatchedLookup, names: list[str]) -> Sequence[Any]:
        found = await queries._query(names)
        await rested.wait()
        return found

    monkeypatch.setattr(lookup.BatchedLookup, "_query_and_rest", query_and_rest)
    misses = Allowance(1, now=lambda: 0.0)
    misses.use(STRANGER)
    things = ThingLookup(OLD)
    cache = cached(services.stores.redis, things, misses=misses)
    in_share = asyncio.ensure_future(cache.get(NAME, STRANGER))
    await things.asked_for(1)
    assert await cache.get(NAME, VISITOR) == OLD
    assert not in_share.done()
    rested.set()
    assert await in_share == OLD


async def test_a_full_share_refuses_only_clients_beyond_their_allowance(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookup, "SHARED_WAITING_NAMES", 10)
    misses = Allowance(1, now=lambda: 0.0)
    misses.use(STRANGER)
    things = ThingLookup(None)
    things.open.clear()
    cache = cached(services.stores.redis, things, misses=misses)
    gets = [asyncio.ensure_future(cache.get(f"link:/{n}", STRANGER)) for n in range(120)]
    await things.asked_for(10)
    things.open.set()
    visited = await cache.get("link:/visited", VISITOR)
    outcomes = await asyncio.gather(*gets, return_exceptions=True)
    assert visited is None
    assert {type(one) for one in outcomes} == {type(None), RateLimited}
    assert outcomes.count(None) >= 10
    # An entry in steady use is still loaded again before it expires.
    aged(cache, memory.MISS_MEMORY_SECONDS * 0.8)
    assert cache.peek("link:/visited") is not None
    assert list(cache._loading) == ["link:/visited"]
