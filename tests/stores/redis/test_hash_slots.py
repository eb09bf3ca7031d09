"""Which server of a cluster has which key."""

import pytest

from tracker.stores.redis import keys
from tracker.stores.redis.hash_slots import (
    SLOTS,
    SlotRange,
    key_of,
    owners,
    ranges_of,
    slot_map,
    slot_of,
)

pytestmark = pytest.mark.redis

A, B, C = ("10.0.0.1", 6379), ("10.0.0.2", 6379), ("10.0.0.3", 6380)


def test_an_answer_is_read_with_the_asked_host_where_one_is_missing() -> None:
    answer = [
        [100, SLOTS - 1, [b"?", 6379, b"id"], [None, 6380, b"id"]],
        [0, 99, [b"10.0.0.2", 6379, b"id", []]],
    ]
    assert slot_map(answer, A) == (
        SlotRange(0, 99, B, ()),
        SlotRange(100, SLOTS - 1, A, (("10.0.0.1", 6380),)),
    )


def test_each_slot_has_an_owner_unless_nobody_serves_it() -> None:
    found = (SlotRange(0, 99, A, (C,)), SlotRange(101, 200, B, ()), SlotRange(300, 300, A, ()))
    slots = owners(found)
    assert len(slots) == SLOTS
    assert [slots[one] for one in (0, 99, 100, 101, 200, 201, 300)] == [A, A, None, B, B, None, A]
    assert ranges_of(found) == {A: {(0, 99), (300, 300)}, B: {(101, 200)}}


@pytest.mark.parametrize(
    ("command", "key"),
    [
        (("GET", "a"), "a"),
        (("XGROUP CREATE", "a", "g"), "a"),
        (("MEMORY USAGE", "a"), "a"),
        (("PUBLISH", "channel", b"x"), "channel"),
        (("EVAL", "return 1", 1, "a", "b"), "a"),
        (("EVALSHA", "sha", 0, "b"), None),
        (("XREADGROUP", b"GROUP", "g", "c", b"COUNT", 1, b"STREAMS", "a", ">"), "a"),
        (("PING",), None),
    ],
)
def test_a_command_is_sent_by_its_first_key(command: tuple[object, ...], key: str | None) -> None:
    assert key_of(command) == key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (keys.JOURNAL, "transaction:{journal}:digest"),
        (keys.journal(3), "transaction:{3}:digest"),
        (keys.journal(3), keys.dead_letters(keys.journal(3))),
        (keys.OVERFLOW, keys.dead_letters(keys.OVERFLOW)),
        (keys.OVERFLOW, keys.probe(keys.OVERFLOW)),
        (keys.drain_number_lease(1), keys.DRAIN_SESSIONS),
        (keys.visitors("2026-01-31", "a1b2", "a"), keys.visitors("2026-02-01", "a000", "a")),
        (keys.partition_lease(1), keys.never_set(keys.partition_lease(1))),
    ],
)
def test_what_a_script_touches_has_one_slot(one: str, other: str) -> None:
    assert slot_of(one) == slot_of(other)
