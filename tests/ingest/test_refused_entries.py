"""Entries that cannot be stored whole: in parts, or among the dead letters."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from pymongo.errors import AutoReconnect

from tests.conversions import scene
from tests.factories import make_click, make_conversion
from tests.ingest import ledger
from tests.ingest.consuming import Applied, clicks_in, consumer_of, dead_letters, pending_in
from tracker.clicks.click import Click
from tracker.ingest.record import Record
from tracker.service.services import Services

pytestmark = pytest.mark.redis


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({b"1": b"\xc1 not MessagePack"}, b"DecodeError: "),
        ({b"1": b""}, b"DecodeError: "),
        ({b"1": msgspec.msgpack.encode([["x", 1]])}, b"ValidationError: "),
        ({b"1": msgspec.msgpack.encode([["c", b"short"]])}, b"ValidationError: "),
        ({b"2": b"of a later release"}, b"ValueError: unknown format 2"),
    ],
)
async def test_an_entry_that_cannot_be_read_goes_to_the_dead_letters(
    services: Services, fields: dict[Any, Any], reason: bytes
) -> None:
    await services.journal.journal.append(make_click())
    entry_id = await services.stores.redis.xadd("journal", fields)
    await services.journal.journal.append(make_click())
    assert await scene.drained(services) == 3
    assert await clicks_in(services) == 2
    (letter,) = await dead_letters(services)
    assert letter.pop(b"reason").startswith(reason)
    assert letter == {**fields, b"id": entry_id}
    assert await pending_in(services) == await services.stores.redis.xlen("journal") == 0


async def test_a_record_that_cannot_be_stored_does_not_take_its_neighbours_along(
    services: Services,
) -> None:
    good = [make_click() for _ in range(3)]
    bad = msgspec.structs.replace(good[0], id=b"no UUID")
    payload = msgspec.msgpack.encode([good[0], bad, good[1], make_conversion(7), good[2]])
    await services.stores.redis.xadd("journal", {b"1": payload})
    await services.journal.journal.append(make_click())
    await scene.drained(services)
    assert await clicks_in(services) == 4
    assert [row["_id"] for row in await scene.stored_events(services)] == [7]
    (letter,) = await dead_letters(services)
    assert msgspec.msgpack.decode(letter[b"1"], type=list[Click]) == [bad]
    assert letter[b"reason"].startswith(b"ValueError: ")
    assert await pending_in(services) == await services.stores.redis.xlen("journal") == 0


async def test_an_outage_while_records_are_tried_one_by_one_refuses_none(
    services: Services,
) -> None:
    good = make_click()
    bad = msgspec.structs.replace(good, id=b"no UUID")
    outages = [AutoReconnect("unavailable")]

    def fails(records: Sequence[Record]) -> None:
        if len(records) == 1 and outages:
            raise outages.pop()

    await services.stores.redis.xadd("journal", {b"1": msgspec.msgpack.encode([good, bad])})
    consumer = consumer_of(services, Applied(services, fails))
    with pytest.raises(AutoReconnect):
        await scene.burst(consumer)
    assert await dead_letters(services) == []
    await scene.burst(consumer)
    assert (await clicks_in(services), len(await dead_letters(services))) == (1, 1)


async def test_an_error_of_unknown_cause_refuses_an_entry_only_at_its_fifth_failure(
    services: Services,
) -> None:
    def fails(records: Sequence[Record]) -> None:
        if records:
            raise RuntimeError("may be a bug of ours")

    for _ in range(2):
        await services.journal.journal.append(make_click())
    consumer = consumer_of(services, Applied(services, fails))
    letters = []
    for _ in range(8):
        with pytest.raises(RuntimeError, match="may be a bug"):
            await scene.burst(consumer)
        letters.append(len(await dead_letters(services)))
    assert letters == [0] * 4 + [1] * 4
    await scene.burst(consumer)
    assert [letter[b"reason"] for letter in await dead_letters(services)] == [
        b"RuntimeError: may be a bug of ours"
    ] * 2
    assert await pending_in(services) == await services.stores.redis.xlen("journal") == 0


async def test_clicks_that_are_too_large_for_one_command_are_stored_in_parts(
    services: Services,
) -> None:
    """MongoDB takes 16 MB in one command."""
    large = "x" * (3 << 20)
    clicks = [make_click(query=large) for _ in range(7)]
    for some in (clicks[:6], clicks[6:]):
        await services.stores.redis.xadd("journal", {b"1": msgspec.msgpack.encode(some)})
    applied = Applied(services)
    await scene.burst(consumer_of(services, applied))
    assert applied.records == await clicks_in(services) == 7
    assert (
        await services.stores.redis.xlen("journal")
        == await services.stores.redis.xlen("journal:dead")
        == 0
    )
    await ledger.check(services)
