"""Clicks on random links beside clicks on one, and the bytes of a link."""

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from functools import partial
from random import Random
from typing import Final, NamedTuple

from lab.client import percentile
from lab.growth.figures import SIZES, Size
from lab.growth.filling import FilledAccount, create_links, made_together
from lab.growth.run import (
    QUIET_DAYS,
    REQUESTS,
    STEADY_SECONDS,
    WARM_UP_REQUESTS,
    Cost,
    Run,
    Service,
    serving,
)
from lab.growth.seen import PROBED_LINKS, measure_seen
from lab.process_usage import resident_bytes
from lab.requests import clicks
from lab.scene import Place, add_account, destination_of, new_link, open_services
from lab.stores import open_stores
from tracker.stores.redis import keys

_SLOW_RATE: Final = 400
_SLOW_REQUESTS: Final = round(STEADY_SECONDS * _SLOW_RATE)
_REST_SECONDS: Final = 10.0
_MAX_DOMAINS: Final = 10_000

_BYTES: Final = frozenset({"redis-bytes", "index-bytes"})
_FULL_SPEED: Final = frozenset({"random-links", "redis-only", "web-bytes"})
_SLOW: Final = frozenset({"p99", "slow-rate"})
_HOSTS: Final = "random-hosts"
_SEEN: Final = "seen"


class _Places(NamedTuple):
    """Links in a random order; `hot` is one that is in none of the others."""

    hot: list[Place]
    slow: list[Place]
    fast: list[Place]


async def measure(run: Run, wanted: Collection[str]) -> None:
    run.line.show("links: filling")
    account = await run.filling.account(run.sizes.links)
    domains = await _add_domains(run) if _HOSTS in wanted else []
    for number in range(1, run.sizes.rounds + 1):
        run.line.show(f"links: round {number} of {run.sizes.rounds}")
        places = _places(account, number)
        if not _FULL_SPEED.isdisjoint(wanted):
            await _measure_full_speed(run, places)
        if not _SLOW.isdisjoint(wanted):
            await _measure_slow(run, "small", places.hot, places.hot)
            await _measure_slow(run, "large", places.hot, places.slow)
        if _SEEN in wanted:
            await _measure_seen(run, places)
        if domains:
            await _measure_hosts(run, domains, number)
    if not _BYTES.isdisjoint(wanted):
        await _measure_bytes(run, account)  # last, because it empties Redis


def _places(account: FilledAccount, number: int) -> _Places:
    active = account.active()
    chosen = Random(number).sample(active, min(len(active), REQUESTS + 1))  # noqa: S311
    places = [Place(account.slug(one)) for one in chosen]
    return _Places(places[-1:], places[:_SLOW_REQUESTS], places[:REQUESTS])


async def _measure_full_speed(run: Run, places: _Places) -> None:
    async with _warm(run, places.hot) as service:
        hot_growth, hot = await _growth_and_cost(service, places.hot)
        run.samples.add("random-links", "small", hot.total)
        run.samples.add("redis-only", "small", _of_web_and_redis(hot))
    async with _warm(run, places.hot) as service:
        cold = await service.load(clicks(places.fast, REQUESTS))
        run.samples.add("random-links", "large", cold.total)
        # Their copies are in Redis now, and the next process has none of them.
        await service.restart_web()
        await service.load(clicks(places.hot, WARM_UP_REQUESTS))
        growth, copied = await _growth_and_cost(service, places.fast)
        run.samples.add("redis-only", "large", _of_web_and_redis(copied))
        run.samples.add("web-bytes", "large", (growth - hot_growth) / len(places.fast))


async def _measure_slow(
    run: Run, size: Size, hot: Sequence[Place], opened: Sequence[Place]
) -> None:
    async with _warm(run, hot) as service:
        # At this rate what a start leaves to do would be most of the cost.
        await service.load(clicks(hot, _SLOW_REQUESTS), rate=_SLOW_RATE)
        await service.rest(_REST_SECONDS)
        cost = await service.load(clicks(opened, _SLOW_REQUESTS), rate=_SLOW_RATE)
        run.samples.add("p99", size, cost.outcome.p99 * 1000)
        run.samples.add("slow-rate", size, cost.total)


async def _measure_seen(run: Run, places: _Places) -> None:
    account = await run.filling.account(run.sizes.few_links)
    probed = account.active()[:PROBED_LINKS]
    async with _warm(run, places.hot) as service:
        seen, _ = await asyncio.gather(
            measure_seen(service, account, probed, STEADY_SECONDS),
            service.load(clicks(places.slow, _SLOW_REQUESTS), rate=_SLOW_RATE),
        )
        run.samples.add(_SEEN, "large", percentile(sorted(seen), 0.99))


async def _measure_hosts(run: Run, domains: Sequence[Place], number: int) -> None:
    one, shuffled = domains[:1], list(domains[1:])
    Random(number).shuffle(shuffled)  # noqa: S311
    for size, places in zip(SIZES, (one, shuffled), strict=True):
        async with _warm(run, one) as service:
            cost = await service.load(clicks(places, REQUESTS))
            run.samples.add(_HOSTS, size, cost.total)


@asynccontextmanager
async def _warm(run: Run, hot: Sequence[Place]) -> AsyncIterator[Service]:
    async with serving(run, run.filling.settings, days_later=QUIET_DAYS) as service:
        await service.load(clicks(hot, WARM_UP_REQUESTS))
        yield service


async def _growth_and_cost(service: Service, places: Sequence[Place]) -> tuple[int, Cost]:
    """Return the growth of the web process in bytes, and the cost of clicks."""
    before = resident_bytes(service.web.pid)
    cost = await service.load(clicks(places, REQUESTS))
    return resident_bytes(service.web.pid) - before, cost


def _of_web_and_redis(cost: Cost) -> float:
    return cost.cpu["web"] + cost.cpu["redis"]


async def _add_domains(run: Run) -> list[Place]:
    names = [f"go{one}.growth.test" for one in range(min(_MAX_DOMAINS, run.sizes.links))]
    async with open_services(run.filling.settings) as services:
        account_id, _ = await add_account(services, "Domains")
        create = partial(services.links.domains.create, account_id)
        domains = await made_together("creating domains", names, create)
        url = destination_of("offer")
        await create_links(
            services,
            len(domains),
            lambda number: new_link(account_id, "offer", url, domains[number]),
        )
    return [Place("offer", name) for name in names]


async def _measure_bytes(run: Run, account: FilledAccount) -> None:
    opened = [account.slug(one) for one in account.active()[:REQUESTS]]
    async with (
        open_stores(run.filling.settings) as stores,
        open_services(run.filling.settings) as services,
    ):
        run.samples.add("index-bytes", "large", await stores.index_bytes("links"))
        await stores.empty()
        await services.links.link_cache.get(keys.link("", opened[0]))  # opens the connections
        before = await stores.redis_bytes()
        names = [keys.link("", slug) for slug in opened]
        await made_together("opening links", names, services.links.link_cache.get)
        grown = await stores.redis_bytes() - before
    destinations = sum(len(destination_of(slug)) for slug in opened)
    run.samples.add("redis-bytes", "large", (grown - destinations) / len(opened))
