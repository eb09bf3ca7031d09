"""Look-ups of conversions are sent to MongoDB in groups, and time out soon."""

import asyncio
from collections.abc import Sequence
from random import Random
from typing import Any
from uuid import UUID

import msgspec
import pytest

from tests.conversions import scene
from tests.factories import create_click, make_conversion
from tests.stores.mongodb.profiler import profiled
from tests.stores.relay import relay
from tracker.conversions import look_ups
from tracker.ids import new_id
from tracker.service.services import Services

SCOPE = new_id()


async def owners(services: Services, click_ids: Sequence[UUID]) -> list[UUID | None]:
    asked = [services.conversions.look_ups.owners.submit(one.bytes) for one in click_ids]
    return list(await asyncio.gather(*asked))


async def earlier(services: Services, scopes: Sequence[UUID], text: str) -> int | None:
    return await services.conversions.look_ups.earlier.submit((scopes, text))


def event_of(number: int, scope: UUID, text: str = "t") -> Any:
    return make_conversion(number, transaction_id=text, transaction_scope=scope.bytes)


async def test_simultaneous_look_ups_are_one_query(services: Services) -> None:
    ids = [await create_click(services, SCOPE) for _ in range(300)]
    await owners(services, ids[:1])
    async with profiled(services.stores.mongodb.database) as rows:
        assert await owners(services, ids) == [SCOPE] * 300
        await asyncio.gather(*(earlier(services, [SCOPE], str(n)) for n in range(100)))
    assert [row["op"] for row in rows] == ["query", "query"]


async def test_the_first_event_in_any_of_several_scopes_is_found(services: Services) -> None:
    low, high = sorted([new_id(), new_id()])
    for name, scopes in (("a", (low, high)), ("b", (high, low))):
        first = ord(name) * 10
        events = [event_of(first + number, one, name) for number, one in enumerate(scopes)]
        await scene.applied(services, events)
        assert await earlier(services, [low, high], name) == first


async def test_each_of_many_look_ups_gets_its_own_event(services: Services) -> None:
    draw, scopes, texts = Random(5), [new_id() for _ in range(5)], list("abcdefgh")
    pairs = [(scope, text) for scope in scopes for text in texts if draw.random() < 0.5]
    held = {pair: number for number, pair in enumerate(pairs, 1)}
    await scene.applied(services, [event_of(held[one], *one) for one in held])
    sought = [(draw.sample(scopes, draw.randrange(3)), draw.choice(texts)) for _ in range(400)]
    expected = [
        min((held[scope, text] for scope in some if (scope, text) in held), default=None)
        for some, text in sought
    ]
    found = await asyncio.gather(*(earlier(services, *one) for one in sought))
    assert list(found) == expected


async def test_look_ups_find_nothing_while_mongodb_does_not_answer_in_time(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    click_id = await create_click(services, SCOPE)
    await scene.applied(services, [event_of(1, SCOPE)])
    async with relay(services.settings.mongodb_uri) as way:
        uri = f"mongodb://127.0.0.1:{way.port}/?directConnection=true"
        settings = msgspec.structs.replace(services.settings, mongodb_uri=uri)
        async with scene.process(settings) as far:
            assert await owners(far, [click_id]) == [SCOPE]
            monkeypatch.setattr(look_ups, "LOOK_UP_SECONDS", 0.1)
            way.hold_answers()
            assert await owners(far, [click_id]) == [None]
            assert far.conversions.look_ups.mongodb.is_open
            assert await earlier(far, [SCOPE], "t") is None
            way.answer_again()
            monkeypatch.undo()
            far.conversions.look_ups.mongodb.record_success()
            assert await owners(far, [click_id]) == [SCOPE]
            assert await earlier(far, [SCOPE], "t") == 1
