"""Links with `max_clicks`: so many visitors reach the destination, exactly, and are stored."""

import asyncio
from collections import Counter
from typing import Any

import msgspec
import pytest

from tests.conversions import scene
from tests.conversions.outage import without_mongodb
from tests.factories import CHROME, create_link, make_visit
from tests.stores.relay import relay
from tests.waiting import becomes
from tests.web.each import each_case
from tests.web.records import journaled_clicks
from tracker.clicks.visit import ClientHeaders, Visit
from tracker.errors import ErrorCode, NotFound, Unavailable
from tracker.ids import new_id
from tracker.links.link import Link
from tracker.service.services import Services
from tracker.stores.redis import keys

pytestmark = pytest.mark.redis

ENDED = "https://example.com/ended"


def visit_by(agent: str = CHROME, purpose: str = "", **fields: Any) -> Visit:
    headers = ClientHeaders.from_headers(agent, "", purpose, "")
    return make_visit(headers=headers, **fields)


async def outcome(services: Services, visit: Visit | None = None) -> str:
    """Return what a visitor gets: `destination`, `ended`, or the code of an error."""
    try:
        answer = await services.clicks.redirect.answer(visit or visit_by())
    except (NotFound, Unavailable) as error:
        return str(error.code)
    return "ended" if dict(answer.headers)["Location"] == ENDED else "destination"


async def outcomes(services: Services, number: int) -> Counter[str]:
    return Counter(await asyncio.gather(*(outcome(services) for _ in range(number))))


async def change(services: Services, link: Link, **fields: Any) -> None:
    await services.links.links.change(link.id, fields)


async def stored(services: Services) -> int:
    await scene.drained(services)
    return await services.stores.mongodb["clicks"].count_documents({"bot": None, "test": None})


async def marked(services: Services) -> int:
    return await services.stores.mongodb["links"].count_documents({"used_up_at": {"$exists": True}})


async def counter(services: Services) -> tuple[str, int]:
    """Return the only counter, and the clicks that it has counted."""
    redis: Any = services.stores.redis
    [key] = await redis.keys(keys.used_clicks(b"*").replace("2a", "*"))
    return key.decode(), int(await redis.hget(key, "used"))


async def test_of_visitors_at_several_processes_so_many_reach_the_destination_and_are_stored(
    services: Services,
) -> None:
    await create_link(services, new_id(), max_clicks=100, expired_url=ENDED)
    async with scene.process(services.settings) as other:
        found = await asyncio.gather(*(outcomes(one, 150) for one in (services, other)))
    assert found[0] + found[1] == {"destination": 100, "ended": 200}
    assert await outcome(services, make_visit(method="HEAD")) == "ended"
    assert await stored(services) == 100
    await becomes(lambda: marked(services), 1)


@each_case(
    "visit",
    [
        visit_by(method="HEAD"),
        visit_by("Googlebot/2.1 (+http://www.google.com/bot.html)"),
        visit_by(purpose="prefetch"),
        visit_by(""),
    ],
)
async def test_a_visit_of_no_person_uses_no_click_and_gets_what_everybody_gets(
    services: Services, visit: Visit
) -> None:
    slug = (await create_link(services, new_id(), None, max_clicks=2)).slug
    visit, person = (msgspec.structs.replace(one, slug=slug) for one in (visit, visit_by()))
    for _ in range(3):
        assert await outcome(services, visit) == "destination"
    before = len(await journaled_clicks(services))
    assert [await outcome(services, person) for _ in range(3)] == [
        *["destination"] * 2,
        ErrorCode.LINK_EXPIRED,
    ]
    assert await outcome(services, visit) == ErrorCode.LINK_EXPIRED
    assert len(await journaled_clicks(services)) == before + 2


async def test_a_test_click_ignores_the_limit_and_uses_none(services: Services) -> None:
    link = await create_link(services, new_id(), max_clicks=1)
    for _ in range(2):
        assert await services.clicks.redirect.record_test(visit_by(), link)
    assert await outcomes(services, 2) == {"destination": 1, ErrorCode.LINK_EXPIRED: 1}
    assert await stored(services) == 1


async def test_a_raised_limit_reopens_a_link_at_once_and_a_lowered_one_closes_it(
    services: Services,
) -> None:
    link = await create_link(services, new_id(), max_clicks=3)
    for limit, opened in ((3, 3), (5, 2), (4, 0), (9, 4)):
        await change(services, link, max_clicks=limit)
        found = await outcomes(services, opened + 1)
        assert found == Counter({"destination": opened, ErrorCode.LINK_EXPIRED: 1})
        await becomes(lambda: marked(services), 1)
    await change(services, link, max_clicks=10)
    assert await marked(services) == 0
    await change(services, link, max_clicks=None)
    assert await outcomes(services, 5) == {"destination": 5}
    assert await stored(services) == 9 + 5


async def test_clicks_without_a_limit_count_once_they_are_stored_and_so_do_opening_clicks(
    services: Services,
) -> None:
    account_id = new_id()
    accounts = services.stores.mongodb["accounts"]
    await accounts.insert_one({"_id": account_id, "time_zone": "Europe/Berlin"})
    link = await create_link(services, account_id, max_clicks=2)
    assert await outcome(services) == "destination"
    await change(services, link, max_clicks=None)
    assert await outcomes(services, 5) == {"destination": 5}
    assert await stored(services) == 6
    await services.stores.mongodb["links"].update_one(
        {"_id": link.id}, {"$set": {"opening_clicks": 10}}
    )
    await change(services, link, max_clicks=18)
    assert await outcomes(services, 5) == {"destination": 2, ErrorCode.LINK_EXPIRED: 3}


async def test_a_counter_that_redis_has_lost_is_read_from_the_stored_clicks(
    services: Services,
) -> None:
    await create_link(services, new_id(), max_clicks=5)
    assert await outcomes(services, 3) == {"destination": 3}
    assert await stored(services) == 3
    key, used = await counter(services)
    assert used == 3
    assert 600_000 < await services.stores.redis.ttl(key) <= 7 * 86_400
    await services.stores.redis.flushall()
    assert await outcomes(services, 5) == {"destination": 2, ErrorCode.LINK_EXPIRED: 3}


async def test_a_server_that_has_lost_the_last_uses_is_told_the_stored_clicks(
    services: Services,
) -> None:
    """A replica that is promoted has another replication id, and may lack the last writes."""
    await create_link(services, new_id(), max_clicks=5)
    assert await outcomes(services, 4) == {"destination": 4}
    assert await stored(services) == 4
    key, _ = await counter(services)
    redis: Any = services.stores.redis
    for used, mark, following in ((1, "of another server", 4 + 1), (9, "of another server", 9)):
        await redis.hset(key, mapping={"used": used, "mark": mark})
        await outcome(services)
        assert await counter(services) == (key, following)


async def test_while_redis_is_away_only_limited_links_are_unavailable(services: Services) -> None:
    await create_link(services, new_id(), "limited", max_clicks=5)
    await create_link(services, new_id(), "usual")
    settings = msgspec.structs.replace(services.settings, redis_url="redis://127.0.0.1:1")
    async with scene.process(settings) as cut_off:
        for method in ("GET", "HEAD"):
            with pytest.raises(Unavailable) as caught:
                await cut_off.clicks.redirect.answer(visit_by(slug="limited", method=method))
            assert caught.value.headers == {"Retry-After": "1"}
        assert await outcome(cut_off, visit_by(slug="usual")) == "destination"
    await services.journal.journal.replay_once()
    await scene.drained(services)
    [click] = [one async for one in services.stores.mongodb["clicks"].find()]
    assert click["user_agent"] == CHROME


async def test_a_visitor_whom_no_queue_takes_is_told_when_to_try_again(
    services: Services,
) -> None:
    await create_link(services, new_id(), max_clicks=5)
    queue = services.journal.journal._appender_of(0).limited
    queue._waiting_items = 0
    with pytest.raises(Unavailable, match="too many") as caught:
        await services.clicks.redirect.answer(visit_by())
    assert caught.value.headers == {"Retry-After": "1"}


async def test_a_lost_answer_is_no_redirect_and_its_click_is_counted_as_it_is_stored(
    services: Services,
) -> None:
    await create_link(services, new_id(), max_clicks=5)
    async with relay(services.settings.redis_url) as way:
        url = f"redis://127.0.0.1:{way.port}"
        async with scene.process(msgspec.structs.replace(services.settings, redis_url=url)) as one:
            assert await outcome(one) == "destination"
            for arrives in (True, False):
                way.cut_at(b"XADD", arrives=arrives, times=1)
                assert await outcome(one) == "unavailable"
    found = await outcomes(services, 5)
    assert found == {"destination": 3, ErrorCode.LINK_EXPIRED: 2}
    assert await stored(services) == 5


async def test_without_mongodb_a_counter_that_is_there_decides(services: Services) -> None:
    links = [await create_link(services, new_id(), slug, max_clicks=2) for slug in ("a", "b")]
    assert await outcome(services, visit_by(slug="a")) == "destination"
    async with scene.process(without_mongodb(services.settings)) as cut_off:
        found = [await outcome(cut_off, visit_by(slug=one.slug)) for one in (*links, links[0])]
    assert found == ["destination", "unavailable", ErrorCode.LINK_EXPIRED]


async def test_a_limited_click_never_goes_to_the_overflow(services: Services) -> None:
    link = await create_link(services, new_id(), max_clicks=5)
    overflow = services.journal.journal.overflow
    overflow.is_counting, overflow._accounts = True, frozenset([link.account_id.bytes])
    assert await outcome(services) == "destination"
    assert await services.stores.redis.xlen(keys.OVERFLOW) == 0
    assert await services.stores.redis.xlen(keys.JOURNAL) == 1
