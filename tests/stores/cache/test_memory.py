"""The memory of a cache: encoded values, and a few of them decoded."""

import pytest

from tests.stores.cache.cached_thing import NEW, OLD, Thing
from tracker.stores.cache import memory as module
from tracker.stores.cache.memory import CacheEntry, Memory


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Memory[Thing]:
    monkeypatch.setattr(module, "MAX_DECODED", 2)
    known = {b"old": OLD, b"new": NEW}
    return Memory(4, lambda thing: thing.text.encode(), known.__getitem__)


def found(memory: Memory[Thing], name: str) -> CacheEntry[Thing]:
    entry = memory.find(name)
    assert entry is not None
    return entry


def test_few_values_are_decoded_and_all_are_found(memory: Memory[Thing]) -> None:
    for name in "abcd":
        memory.remember(name, OLD, settled=True)
    assert [found(memory, name).value for name in "abcd"] == [OLD] * 4
    assert list(memory.decoded) == ["c", "d"]
    assert found(memory, "a") is found(memory, "a")


def test_a_new_value_replaces_a_decoded_one(memory: Memory[Thing]) -> None:
    memory.remember("a", OLD, settled=True)
    assert found(memory, "a").value == OLD
    memory.remember("a", NEW, settled=True)
    assert found(memory, "a").value == NEW
    memory.remember("a", None, settled=True)
    assert found(memory, "a").value is None


def test_long_values_push_out_one_another_and_no_others() -> None:
    memory = Memory[bytes](2 * module.LONG_SHARE, lambda text: text, bytes)
    long = bytes(module.LONG_BYTES)
    memory.remember("short", b"", settled=True)
    for name in ("a", "b", "a", "c", "d"):
        memory.remember(name, long, settled=True)
    assert list(memory.values) == ["short", "a", "c", "d"]
    memory.remember("a", b"", settled=True)
    memory.remember("e", long, settled=True)
    assert list(memory.values) == ["short", "c", "d", "a", "e"]


def test_a_value_read_during_a_change_is_trusted_for_a_shorter_time(memory: Memory[Thing]) -> None:
    memory.remember("a", OLD, settled=False)
    memory.remember("b", OLD, settled=True)
    assert found(memory, "a").ttl_seconds == module.UNSETTLED_SECONDS
    assert found(memory, "b").ttl_seconds == module.MEMORY_SECONDS
