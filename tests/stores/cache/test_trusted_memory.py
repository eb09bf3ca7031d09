"""A memory that is trusted while changes are heard, and for a short time."""

import pytest
from pymongo.errors import NetworkTimeout

from tests.clock import Clock
from tests.waiting import eventually
from tracker.errors import Unauthorized
from tracker.stores.cache import trusted_memory
from tracker.stores.cache.trusted_memory import REFRESH_SECONDS, TRUST_SECONDS, TrustedMemory


class Source:
    """What is stored, and how often it was read."""

    def __init__(self) -> None:
        self.value = "value"
        self.reads = 0
        self.error: Exception | None = None

    async def read(self) -> str:
        self.reads += 1
        if self.error is not None:
            raise self.error
        return self.value


@pytest.fixture
def memory(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> TrustedMemory[str]:
    monkeypatch.setattr(trusted_memory, "monotonic", clock)
    made: TrustedMemory[str] = TrustedMemory(2)
    made.verified = True
    return made


@pytest.fixture
def source() -> Source:
    return Source()


async def test_what_was_read_is_known_until_its_name_is_forgotten(
    memory: TrustedMemory[str], source: Source
) -> None:
    for _ in range(3):
        assert await memory.get("one", source.read) == "value"
    memory.forget("other")
    assert (await memory.get("one", source.read), source.reads) == ("value", 1)
    memory.forget("one")
    assert (await memory.get("one", source.read), source.reads) == ("value", 2)


async def test_memory_is_asked_without_reading_while_it_is_trusted(
    memory: TrustedMemory[str], source: Source, clock: Clock
) -> None:
    assert memory.peek("one") is None
    await memory.get("one", source.read)
    clock.seconds += TRUST_SECONDS - 0.001
    assert memory.peek("one") == "value"
    clock.seconds += 0.001
    assert memory.peek("one") is None
    clock.seconds -= 1
    memory.forget("one")
    assert memory.peek("one") is None


async def test_what_was_read_before_something_was_forgotten_is_not_kept(
    memory: TrustedMemory[str], source: Source
) -> None:
    async def read() -> str:
        memory.forget("one")
        return "old"

    assert await memory.get("one", read) == "old"
    assert await memory.get("one", source.read) == "value"


async def test_nothing_is_trusted_while_changes_are_not_heard(
    memory: TrustedMemory[str], source: Source
) -> None:
    await memory.get("one", source.read)
    memory.verified = False
    for reads in (2, 3):
        await memory.get("one", source.read)
        assert source.reads == reads


async def test_trust_ends_two_seconds_after_reading_has_begun(
    memory: TrustedMemory[str], source: Source, clock: Clock
) -> None:
    async def read() -> str:
        clock.seconds += 0.5
        return "value"

    assert TRUST_SECONDS == 2.0
    await memory.get("one", read)
    clock.seconds = 1.0
    await memory.get("one", source.read)
    assert source.reads == 0
    clock.seconds = 2.0
    await memory.get("one", source.read)
    assert source.reads == 1


async def test_a_value_in_use_is_read_again_before_anybody_waits_for_it(
    memory: TrustedMemory[str], source: Source, clock: Clock
) -> None:
    await memory.get("one", source.read)
    source.value, clock.seconds = "new", REFRESH_SECONDS
    assert [await memory.get("one", source.read) for _ in range(2)] == ["value", "value"]
    await eventually(lambda: not memory._refreshing)
    assert (await memory.get("one", source.read), source.reads) == ("new", 2)
    clock.seconds += REFRESH_SECONDS - 0.01
    assert (await memory.get("one", source.read), source.reads) == ("new", 2)


@pytest.mark.parametrize("error", [Unauthorized("revoked"), NetworkTimeout("slow")])
async def test_what_cannot_be_read_again_is_trusted_until_its_time_is_over_unless_it_is_gone(
    memory: TrustedMemory[str], source: Source, clock: Clock, error: Exception
) -> None:
    await memory.get("one", source.read)
    source.error, clock.seconds = error, REFRESH_SECONDS
    await memory.get("one", source.read)
    await eventually(lambda: not memory._refreshing)
    assert (memory.peek("one") is None) == isinstance(error, Unauthorized)
    clock.seconds = TRUST_SECONDS
    with pytest.raises(type(error)):
        await memory.get("one", source.read)


async def test_the_oldest_goes_first(memory: TrustedMemory[str], source: Source) -> None:
    for name in ("1", "2", "3"):
        await memory.get(name, source.read)
    for name in ("3", "2"):
        await memory.get(name, source.read)
    assert source.reads == 3
    await memory.get("1", source.read)
    assert source.reads == 4
