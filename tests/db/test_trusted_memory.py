"""A memory that is trusted while changes are heard."""

import pytest

from tracker.db import memory as bounded
from tracker.db.trusted_memory import TrustedMemory


@pytest.fixture
def memory() -> TrustedMemory[str]:
    made: TrustedMemory[str] = TrustedMemory(2)
    made.verified = True
    return made


def test_what_was_read_is_known_until_its_name_is_forgotten(memory: TrustedMemory[str]) -> None:
    memory.put("one", "value", memory.generation)
    memory.put("other", "another", memory.generation)
    assert (memory.get("one"), memory.get("other")) == ("value", "another")
    memory.forget("one")
    assert (memory.get("one"), memory.get("other")) == (None, "another")


def test_what_was_read_before_something_was_forgotten_is_not_kept(
    memory: TrustedMemory[str],
) -> None:
    before = memory.generation
    memory.forget("one")
    memory.put("one", "old", before)
    assert memory.get("one") is None


def test_nothing_is_trusted_while_changes_are_not_heard(memory: TrustedMemory[str]) -> None:
    memory.put("one", "value", memory.generation)
    memory.verified = False
    assert memory.get("one") is None
    memory.put("one", "value", memory.generation)
    assert memory.get("one") is None


def test_trust_ends(memory: TrustedMemory[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded, "MEMORY_SECONDS", 0.0)
    memory.put("one", "value", memory.generation)
    assert memory.get("one") is None


def test_the_oldest_goes_first(memory: TrustedMemory[str]) -> None:
    for name in ("1", "2", "3"):
        memory.put(name, "value", memory.generation)
    assert [memory.get(name) for name in ("1", "2", "3")] == [None, "value", "value"]
