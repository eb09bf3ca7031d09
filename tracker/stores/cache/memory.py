"""The memory of a cache, with a limit. Misses are apart, so they push no value out.

Most values are looked up once an hour. So each is kept as bytes, in 300 bytes with its name, and a
small part also as an object, which the fast path needs.
"""

import time
from collections.abc import Callable
from struct import Struct
from typing import Any, Final, Generic, NamedTuple, TypeVar

from tracker.limits.oldest import drop_oldest

MEMORY_SECONDS: Final = 300.0
"""How long a value is trusted while the process hears of every change."""

UNSETTLED_SECONDS: Final = 10.0
"""The time to live of a value read during a change, whose writer may die silently."""

MISS_MEMORY_SECONDS: Final = 5.0

MAX_DECODED: Final = 2_000
"""Values that are kept as objects too, at 500 bytes each. Decoding one takes 0.2 µs."""

LONG_BYTES: Final = 4_096
LONG_SHARE: Final = 50
"""Few values are long, such as links with many rules: at most one in LONG_SHARE of all."""

TIMES: Final = Struct("=df")
"""The header of an encoded value: when it was loaded, and for how long it is trusted."""

Value = TypeVar("Value")


class CacheEntry(NamedTuple, Generic[Value]):
    """A cached value, None for a miss; `loaded_at` is by `time.monotonic`."""

    value: Value | None
    loaded_at: float
    ttl_seconds: float


class Memory(Generic[Value]):
    """A bounded memory of values and misses, from which the oldest are dropped first."""

    def __init__(
        self,
        max_values: int,
        encode: Callable[[Value], bytes],
        decode: Callable[[Any], Value],
    ) -> None:
        self.values: dict[str, bytes] = {}
        self.decoded: dict[str, CacheEntry[Value]] = {}
        self.misses: dict[str, CacheEntry[Value]] = {}
        self._long: dict[str, None] = {}
        self._max_values = max_values
        self._max_misses = max_values // 10 + 1
        self._encode = encode
        self._decode = decode

    def find(self, name: str) -> CacheEntry[Value] | None:
        """Return the entry, however old; None if there is none."""
        return self.decoded.get(name) or self._decode_entry(name) or self.misses.get(name)

    def remember(self, name: str, value: Value | None, settled: bool) -> None:
        """Store a value, for a short time unless it is `settled`: a change may be under way."""
        self.forget(name)
        if value is None:
            self.misses[name] = CacheEntry(None, time.monotonic(), MISS_MEMORY_SECONDS)
            drop_oldest(self.misses, self._max_misses)
        else:
            seconds = MEMORY_SECONDS if settled else UNSETTLED_SECONDS
            encoded = TIMES.pack(time.monotonic(), seconds) + self._encode(value)
            self.values[name] = encoded
            drop_oldest(self.values, self._max_values)
            if len(encoded) > LONG_BYTES:
                self._count_long(name)

    def _count_long(self, name: str) -> None:
        """Forget the oldest long value if there are too many."""
        self._long[name] = None
        if len(self._long) > self._max_values // LONG_SHARE + 1:
            self.forget(next(iter(self._long)))

    def forget(self, name: str) -> None:
        self._long.pop(name, None)
        self.values.pop(name, None)
        self.decoded.pop(name, None)
        self.misses.pop(name, None)

    def forget_all(self) -> None:
        self.values.clear()
        self.decoded.clear()
        self.misses.clear()
        self._long.clear()

    def _decode_entry(self, name: str) -> CacheEntry[Value] | None:
        encoded = self.values.get(name)
        if encoded is None:
            return None
        loaded_at, ttl_seconds = TIMES.unpack_from(encoded)
        entry = CacheEntry(self._decode(encoded[TIMES.size :]), loaded_at, ttl_seconds)
        self.decoded[name] = entry
        drop_oldest(self.decoded, MAX_DECODED)
        return entry
