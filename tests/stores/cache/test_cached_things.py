"""Everything that is cached keeps the same promises to whoever looks it up."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

import msgspec
import pytest

from tests.conversions.rules import cached_rules
from tests.factories import create_event_config, create_link
from tests.links.processes import process, visited
from tests.stores.redis.own_redis import unavailable_redis
from tests.waiting import becomes
from tracker.errors import Unavailable
from tracker.ids import new_id
from tracker.service.services import Services
from tracker.stores.cache.cache import Cache
from tracker.stores.cache.copies import UPDATE_SECONDS
from tracker.stores.redis import keys

ACCOUNT = new_id()
HOSTNAME = "go.example"

Change = Callable[[Services, Any], Awaitable[object]]


class CachedThing(NamedTuple):
    """How a thing is made, looked up and changed. `name` is its name in the cache."""

    create: Callable[[Services], Awaitable[Any]]
    look_up: Callable[[Services, Any], Awaitable[object]]
    changes: Sequence[Change]
    name: Callable[[Any], str]


THINGS = {
    "a link": CachedThing(
        create=lambda services: create_link(services, ACCOUNT, "abc"),
        look_up=lambda services, _: visited(services, "abc"),
        changes=[
            lambda services, link: services.links.links.change(link.id, {"active": False}),
            lambda services, link: services.links.links.change(link.id, {"archived": True}),
        ],
        name=lambda _: keys.link("", "abc"),
    ),
    "a domain": CachedThing(
        create=lambda services: services.links.domains.create(ACCOUNT, HOSTNAME),
        look_up=lambda services, _: services.links.domains.by_name(HOSTNAME),
        changes=[
            lambda services, domain: services.links.domains.verify(domain.id),
            lambda services, domain: services.links.domains.delete(domain.id),
        ],
        name=lambda _: keys.domain(HOSTNAME),
    ),
    "an event configuration": CachedThing(
        create=create_event_config,
        look_up=lambda services, config: services.conversions.event_configs.by_postback_key(
            config.pbk
        ),
        changes=[
            lambda services, config: services.conversions.event_configs.change(
                config.id, {"archived": True}
            )
        ],
        name=lambda config: keys.event_config(config.pbk),
    ),
    "the rules of an account": CachedThing(
        create=lambda services: services.accounts.accounts.create("Acme"),
        look_up=lambda services, account: cached_rules(services, account.id),
        changes=[
            lambda services, account: services.conversions.account_rules.change(
                account.id, {"require_pbk": True}
            )
        ],
        name=lambda account: keys.account(account.id),
    ),
    "the origins of an account": CachedThing(
        create=lambda services: services.accounts.accounts.create("Acme"),
        look_up=lambda services, account: services.clicks.origins_cache.get(
            keys.origins(str(account.id))
        ),
        changes=[
            lambda services, account: services.clicks.origins.change(account.id, ["shop.example"])
        ],
        name=lambda account: keys.origins(str(account.id)),
    ),
}

each_change = pytest.mark.parametrize(
    ("thing", "change"),
    [(thing, change) for thing in THINGS.values() for change in thing.changes],
    ids=[f"{name}-{n}" for name, thing in THINGS.items() for n in range(len(thing.changes))],
)


async def looked_up_anew(services: Services, thing: CachedThing, made: Any) -> object:
    """Return what MongoDB has."""
    await services.stores.redis.delete(thing.name(made))
    for cache in caches(services):
        cache.forget_all()
    return await thing.look_up(services, made)


def caches(services: Services) -> list[Cache[Any]]:
    return [*services.caches.values()]


@pytest.mark.usefixtures("long_memory")
@pytest.mark.parametrize("name", ["a link", "a domain"])
async def test_what_was_missed_before_is_found_once_it_exists(
    services: Services, name: str
) -> None:
    thing = THINGS[name]
    async with process(services.settings) as other:
        assert [await thing.look_up(one, None) for one in (services, other)] == [None, None]
        made = await thing.create(services)
        expected = await thing.look_up(services, made)
        assert expected is not None
        await becomes(lambda: thing.look_up(other, made), expected)


@pytest.mark.usefixtures("long_memory")
@each_change
async def test_every_process_sees_a_change(
    services: Services, thing: CachedThing, change: Change
) -> None:
    made = await thing.create(services)
    async with process(services.settings) as other:
        before = await thing.look_up(other, made)
        assert before is not None
        assert await thing.look_up(services, made) == before
        await change(services, made)
        after = await thing.look_up(services, made)
        assert after != before
        await becomes(lambda: thing.look_up(other, made), after)
        for cache in caches(other):
            cache.forget_all()
        assert await thing.look_up(other, made) == after, "as Redis has it"
        assert await looked_up_anew(other, thing, made) == after


@pytest.mark.parametrize("read_meanwhile", [False, True])
@each_change
async def test_a_crash_between_mongodb_and_redis_heals(
    services: Services,
    monkeypatch: pytest.MonkeyPatch,
    thing: CachedThing,
    change: Change,
    read_meanwhile: bool,
) -> None:
    begin = Cache.begin_update

    async def begin_and_read(cache: Cache[Any], name: str) -> None:
        await begin(cache, name)
        if read_meanwhile:
            cache.forget_all()
            await cache.get(name)

    async def crash(*_: object) -> None:
        raise SystemError

    made = await thing.create(services)
    before = await thing.look_up(services, made)
    monkeypatch.setattr(Cache, "begin_update", begin_and_read)
    monkeypatch.setattr(Cache, "changed", crash)
    with pytest.raises(SystemError):
        await change(services, made)
    left = await services.stores.redis.pttl(thing.name(made))
    assert 0 < left <= UPDATE_SECONDS * 1000
    after = await looked_up_anew(services, thing, made)  # as if that time had passed
    assert after != before


@each_change
async def test_without_redis_it_is_found_and_not_changed(
    services: Services, thing: CachedThing, change: Change
) -> None:
    settings = msgspec.structs.replace(services.settings, redis_url=unavailable_redis())
    cut_off = Services(settings)
    try:
        made = await thing.create(cut_off)
        before = await thing.look_up(cut_off, made)
        assert before is not None
        with pytest.raises(Unavailable):
            await change(cut_off, made)
        assert await looked_up_anew(services, thing, made) == before
    finally:
        await cut_off.stop()
        await cut_off.close()
