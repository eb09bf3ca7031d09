"""A memory that is trusted while changes are heard."""

import pytest

from tracker.db import trusted_memory
from tracker.db.trusted_memory import TrustedMemory

ONE, OTHER = b"1" * 32, b"2" * 32


@pytest.fixture
def memory() -> TrustedMemory[str]:
    made: TrustedMemory[str] = TrustedMemory(2)
    made.verified = True
    return made


def test_what_was_read_is_known_until_its_name_is_forgotten(memory: TrustedMemory[str]) -> None:
    memory.put(ONE, "one", "value", memory.generation)
    memory.put(OTHER, "other", "another", memory.generation)
    assert (memory.get(ONE), memory.get(OTHER)) == ("value", "another")
    memory.forget("one")
    assert (memory.get(ONE), memory.get(OTHER)) == (None, "another")


def test_what_was_read_before_something_was_forgotten_is_not_kept(
    memory: TrustedMemory[str],
) -> None:
    before = memory.generation
    memory.forget("one")
    memory.put(ONE, "one", "old", before)
    assert memory.get(ONE) is None


def test_nothing_is_trusted_while_changes_are_not_heard(memory: TrustedMemory[str]) -> None:
    memory.put(ONE, "one", "value", memory.generation)
    memory.verified = False
    assert memory.get(ONE) is None
    memory.put(ONE, "one", "value", memory.generation)
    assert memory.get(ONE) is None


def test_trust_ends(memory: TrustedMemory[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trusted_memory, "TRUST_SECONDS", 0.0)
    memory.put(ONE, "one", "value", memory.generation)
    assert memory.get(ONE) is None


def test_the_least_recently_used_goes_first(memory: TrustedMemory[str]) -> None:
    for number, digest in enumerate((ONE, OTHER)):
        memory.put(digest, f"{number}", "value", memory.generation)
    memory.get(ONE)
    memory.put(b"3" * 32, "3", "value", memory.generation)
    assert (memory.get(ONE), memory.get(OTHER)) == ("value", None)
    memory.forget("1")
    assert memory.get(b"3" * 32) == "value"
