"""Made-up slugs, hosts and keys of strangers do not delay visitors of links that exist."""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from config.settings import Settings
from tests.clock import Clock
from tests.factories import create_link, make_visit
from tests.stores.mongodb.profiler import profiled
from tracker.clicks.pages.sent import PageClick
from tracker.clicks.visit import Visit
from tracker.errors import Forbidden, NotFound
from tracker.ids import new_id, new_slug
from tracker.service.services import Services

pytestmark = pytest.mark.redis

CROWD, VISITORS = 1000, 20
STRANGER = "203.0.113.7"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return msgspec.structs.replace(settings, miss_limit_ip_per_minute=100)


def visit(slug: str, **fields: Any) -> Visit:
    return make_visit(slug=slug, **({"address": STRANGER} | fields))


async def statuses(services: Services, visits: Sequence[Visit]) -> list[int]:
    async def status(one: Visit) -> int:
        try:
            return (await services.clicks.redirect.answer(one)).status
        except NotFound as error:
            return error.status

    return list(await asyncio.gather(*map(status, visits)))


async def linked(services: Services) -> list[str]:
    """Return slugs of links that neither memory nor Redis knows."""
    slugs = [new_slug() for _ in range(VISITORS)]
    for slug in slugs:
        await create_link(services, new_id(), slug)
    await services.stores.redis.flushdb()
    services.links.link_cache.forget_all()
    return slugs


@pytest.mark.parametrize("address", [STRANGER, "203.0.113.8"], ids=["same address", "another"])
async def test_visitors_of_uncached_links_are_redirected_beside_a_thousand_random_slugs(
    services: Services, address: str, clock: Clock
) -> None:
    services.links.link_cache._misses._now = clock  # while it stands, no allowance grows again
    for _ in range(2):  # the second time the stranger's allowance is spent
        visits = [visit(slug, address=address) for slug in await linked(services)]
        crowd = [visit(new_slug()) for _ in range(CROWD)]
        found = await statuses(services, [*crowd[::2], *visits, *crowd[1::2]])
        assert found == [404] * (CROWD // 2) + [302] * VISITORS + [404] * (CROWD // 2)
    assert services.links.link_cache._misses.is_used_up(STRANGER)
    assert not services.stores.breaker.is_open


async def test_a_thousand_random_slugs_at_once_cost_a_few_queries(services: Services) -> None:
    await statuses(services, [visit(new_slug())])
    async with profiled(services.stores.mongodb.database) as rows:
        await statuses(services, [visit(new_slug()) for _ in range(CROWD)])
    assert {row["ns"].partition(".")[2] for row in rows} == {"links"}
    assert len(rows) <= 4


async def test_a_thousand_random_origins_of_pages_at_once_cost_a_few_queries(
    services: Services,
) -> None:
    await create_link(services, new_id())
    sent = PageClick(slug="abc", url="https://shop.example/")
    origins = [f"https://{new_slug().lower().strip('-_')}.example" for _ in range(CROWD)]
    async with profiled(services.stores.mongodb.database) as rows:
        answers = await asyncio.gather(
            *(services.clicks.pages.record(sent, one, visit("")) for one in origins),
            return_exceptions=True,
        )
    assert {type(one) for one in answers} == {Forbidden}
    assert len(rows) <= 6
    assert await services.stores.redis.exists("journal") == 0


async def test_a_thousand_random_hosts_at_once_cost_a_few_queries(services: Services) -> None:
    (slug, *_) = await linked(services)
    hosts = [f"{new_slug().lower().strip('-_')}.example" for _ in range(CROWD)]
    async with profiled(services.stores.mongodb.database) as rows:
        by_host = await statuses(services, [visit(slug, host=host) for host in hosts[::2]])
        by_d = await statuses(services, [visit(slug, query=f"d={host}") for host in hosts[1::2]])
    # What is no custom domain serves the links of the default one.
    assert (set(by_host), set(by_d)) == ({302}, {404})
    assert len(rows) <= 20
