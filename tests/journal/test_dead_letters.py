"""Letters move as a whole or not at all, however many there are."""

import asyncio
from typing import Any

import msgspec
import pytest
from redis.exceptions import ResponseError

from tests.conversions import scene
from tests.factories import make_click, make_conversion
from tracker.clicks.click import Click
from tracker.conversions.conversion import Conversion
from tracker.ingest.record import ENTRY_DECODER, Record
from tracker.journal.dead_letters import DeadLetters
from tracker.service.services import Services

pytestmark = pytest.mark.redis


async def letters_of(services: Services, number: int) -> DeadLetters[Record]:
    for one in range(number):
        fields: Any = {b"1": bytes(10), b"id": b"1-%d" % one, b"reason": b"so"}
        await services.stores.redis.xadd("journal:dead", fields)
    return DeadLetters(services.stores.redis_blocking, ENTRY_DECODER)


async def moved(letters: DeadLetters[Record]) -> list[int]:
    return [one async for one in letters.replay_all()]


async def test_many_letters_are_read_and_replayed_in_pages(services: Services) -> None:
    letters = await letters_of(services, 50)
    read = await letters.read_after(None, 45)
    assert [one.entry_id for one in read] == [f"1-{number}" for number in range(45)]
    assert len(await letters.read_after(read[-1].id, 45)) == 5
    assert await moved(letters) == [20, 20, 10]
    assert await services.stores.redis.xlen("journal") == 50
    assert await letters.count() == 0


async def test_a_letter_that_is_dead_again_meanwhile_is_not_replayed_for_ever(
    services: Services,
) -> None:
    letters = await letters_of(services, 30)
    replayed = 0
    async for one in letters.replay_all():
        replayed += one
        await scene.drained(services)
    assert (replayed, await letters.count()) == (30, 30)


async def test_simultaneous_replays_move_each_letter_once(services: Services) -> None:
    letters = await letters_of(services, 100)
    pages = await asyncio.gather(*(moved(letters) for _ in range(3)))
    assert sum(map(sum, pages)) == 100
    assert await services.stores.redis.xlen("journal") == 100


@pytest.mark.parametrize("cause", ["wrong type", "full"])
async def test_a_letter_that_the_journal_refuses_stays(services: Services, cause: str) -> None:
    letters = await letters_of(services, 3)
    if cause == "full":
        await services.stores.redis.config_set("maxmemory", 1)
    else:
        await services.stores.redis.set("journal", "not a stream")
    try:
        with pytest.raises(ResponseError):
            await moved(letters)
    finally:
        await services.stores.redis.config_set("maxmemory", 0)
    assert await letters.count() == 3
    await services.stores.redis.delete("journal")
    assert await moved(letters) == [3]


async def test_kinds_are_counted_and_a_reason_is_one_harmless_line(services: Services) -> None:
    payload = msgspec.msgpack.encode([make_click(), make_conversion(1), make_conversion(2)])
    fields: Any = {b"1": payload, b"id": b"5-0", b"reason": b"a\n\x1b[2Jb\xff\xe2\x80\xae"}
    await services.stores.redis.xadd("journal:dead", fields, id="1767000000000-3")
    (letter,) = await DeadLetters(services.stores.redis, ENTRY_DECODER).read_after(None, 10)
    assert (letter.id, letter.entry_id) == ("1767000000000-3", "5-0")
    assert letter.kinds == {Click: 1, Conversion: 2}
    assert letter.reason == "a ?[2Jb\ufffd?"
    assert letter.dead_since.isoformat() == "2025-12-29T09:20:00+00:00"
