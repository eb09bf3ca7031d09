"""The memory of a cache, with a limit. Misses are apart, so they push no value out."""

import time
from typing import Final, Generic, NamedTuple, TypeVar

MEMORY_SECONDS: Final = 300.0
"""How long a value is trusted while the process hears of every change."""

UNSETTLED_SECONDS: Final = 10.0
"""How long a value is trusted that was read during a change, whose writer may die unheard."""

MISS_MEMORY_SECONDS: Final = 5.0

Value = TypeVar("Value")


class CacheEntry(NamedTuple, Generic[Value]):
    """A cached value, None for a miss; `loaded_at` is by `time.monotonic`."""

    value: Value | None
    loaded_at: float
    ttl_seconds: float


class Memory(Generic[Value]):
    """A bounded memory of values and misses, from which the oldest are dropped first."""

    def __init__(self, max_values: int) -> None:
        self.values: dict[str, CacheEntry[Value]] = {}
        self.misses: dict[str, CacheEntry[Value]] = {}
        self._max_values = max_values
        self._max_misses = max_values // 10 + 1

    def find(self, name: str) -> CacheEntry[Value] | None:
        """Return the entry, however old; None if there is none."""
        return self.values.get(name) or self.misses.get(name)

    def remember(self, name: str, value: Value | None, settled: bool) -> None:
        """Store a value, for a short time unless it is `settled`: a change may be under way."""
        self.forget(name)
        if value is None:
            self.misses[name] = CacheEntry(None, time.monotonic(), MISS_MEMORY_SECONDS)
            _limit(self.misses, self._max_misses)
        else:
            seconds = MEMORY_SECONDS if settled else UNSETTLED_SECONDS
            self.values[name] = CacheEntry(value, time.monotonic(), seconds)
            _limit(self.values, self._max_values)

    def forget(self, name: str) -> None:
        self.values.pop(name, None)
        self.misses.pop(name, None)

    def forget_all(self) -> None:
        self.values.clear()
        self.misses.clear()


def _limit(entries: dict[str, CacheEntry[Value]], max_entries: int) -> None:
    if len(entries) > max_entries:
        del entries[next(iter(entries))]
