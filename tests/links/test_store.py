"""Links, domains and tags on real stores: races, crashes between them, what visitors find."""

import asyncio
from typing import Any

import msgspec
import pytest

from tests.factories import create_link
from tests.links.processes import expire, process, visited
from tests.waiting import becomes
from tracker.clock import now_ms
from tracker.errors import BadRequest, NotFound
from tracker.ids import new_id
from tracker.links.domain import served_name
from tracker.links.link import cached_link
from tracker.service.services import Services
from tracker.stores.cache.cache import MISS_COPY_SECONDS
from tracker.stores.mongodb.documents import as_document
from tracker.stores.redis import keys

ACCOUNT, DOMAIN = new_id(), new_id()


async def test_one_of_simultaneous_creators_of_a_slug_wins(services: Services) -> None:
    async with process(services.settings) as other:
        outcomes = await asyncio.gather(
            *(create_link((services, other)[number % 2], ACCOUNT) for number in range(20)),
            return_exceptions=True,
        )
        won = [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
        lost = [outcome for outcome in outcomes if isinstance(outcome, BadRequest)]
        assert (len(won), len(lost)) == (1, 19)
        assert all(refused.message.startswith("slug: ") for refused in lost)
        assert await visited(other) == await visited(services) == cached_link(won[0])
    assert await services.stores.mongodb["links"].count_documents({}) == 1


@pytest.mark.parametrize(
    "other", [{"domain_id": DOMAIN, "domain_name": "x.example"}, {"slug": "Abc"}]
)
async def test_a_slug_is_taken_on_its_domain_only_and_in_its_case_only(
    services: Services, other: dict[str, Any]
) -> None:
    first = await create_link(services, ACCOUNT)
    second = await create_link(services, ACCOUNT, **other)
    assert await visited(services) == cached_link(first)
    assert await visited(services, second.slug, second.domain_id) == cached_link(second)


@pytest.mark.parametrize("missed_before", [False, True])
async def test_a_crash_between_mongodb_and_redis_heals_after_a_creation(
    services: Services, missed_before: bool
) -> None:
    made = await create_link(services, ACCOUNT, "first")
    if missed_before:
        assert await visited(services) is None
    crashed = msgspec.structs.replace(made, id=new_id(), slug="abc")
    await services.stores.mongodb["links"].insert_one(as_document(crashed))
    if missed_before:
        await expire(services, keys.link("", "abc"), MISS_COPY_SECONDS)
    assert await visited(services) == cached_link(crashed)


async def test_a_link_that_is_switched_off_and_on_is_found_again(services: Services) -> None:
    made = await create_link(services, ACCOUNT)
    for active in (False, True, False, True):
        await services.links.links.change(made.id, {"active": active})
        assert (await visited(services) is not None) is active


async def test_after_simultaneous_changes_everyone_has_the_last_one(services: Services) -> None:
    made = await create_link(services, ACCOUNT)
    urls = [f"https://shop.example/{number}" for number in range(20)]
    async with process(services.settings) as other:
        await asyncio.gather(
            *(
                (services, other)[number % 2].links.links.change(made.id, {"destination_url": url})
                for number, url in enumerate(urls)
            )
        )
        last = await services.links.links.find(made.id)
        assert last is not None
        assert last.version == made.version + 20
        services.links.link_cache.forget_all()
        assert await visited(services) == cached_link(last)


async def test_a_link_is_archived_by_one_of_simultaneous_requests(services: Services) -> None:
    made = await create_link(services, ACCOUNT)
    archive = services.links.links.change
    outcomes = await asyncio.gather(
        *(archive(made.id, {"archived": True}) for _ in range(5)), return_exceptions=True
    )
    assert [type(one) for one in outcomes].count(NotFound) == 4


async def test_a_change_stores_the_fields_for_lists_that_a_link_of_an_earlier_release_lacks(
    services: Services,
) -> None:
    made = await create_link(services, ACCOUNT)
    links, own = services.stores.mongodb["links"], {"_id": made.id}
    stored: Any = await links.find_one(own)
    await links.update_one(own, {"$unset": {"words": "", "utm_source": ""}})
    changed = await services.links.links.change(made.id, {"active": False})
    expected = {**stored, "active": False, "version": changed.version}
    assert await links.find_one(own) == expected


async def test_the_version_grows_from_the_time_of_creation(services: Services) -> None:
    before = now_ms()
    made = await create_link(services, ACCOUNT)
    assert before <= made.version <= now_ms()


@pytest.mark.usefixtures("long_memory")
async def test_one_of_the_accounts_that_prove_a_name_at_once_wins(services: Services) -> None:
    async with process(services.settings) as other:
        both = (services, other)
        claims = [await services.links.domains.create(new_id(), "go.example") for _ in range(10)]
        outcomes = await asyncio.gather(
            *(both[number % 2].links.domains.verify(one.id) for number, one in enumerate(claims)),
            return_exceptions=True,
        )
        [won] = [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
        assert sum(isinstance(one, BadRequest | NotFound) for one in outcomes) == 9
        assert [row["_id"] async for row in services.stores.mongodb["domains"].find()] == [won.id]
        expected = served_name([won])
        for one in both:
            await becomes(lambda: one.links.domains.by_name("go.example"), expected)  # noqa: B023
