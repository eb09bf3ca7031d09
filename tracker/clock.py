"""Time as the service writes it: milliseconds since the epoch inside, ISO 8601 UTC outside."""

import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

_MILLISECONDS: Final = tuple(timedelta(milliseconds=number) for number in range(1000))


def now_ms() -> int:
    """Milliseconds since the Unix epoch."""
    return time.time_ns() // 1_000_000


def moment(ms: int) -> datetime:
    """The aware UTC datetime that MongoDB stores for `ms`."""
    return _second(ms // 1000) + _MILLISECONDS[ms % 1000]


@lru_cache(maxsize=1000)
def _second(seconds: int) -> datetime:
    """Many clicks are made in one: adding to it takes a third of the time of making anew."""
    return datetime.fromtimestamp(seconds, UTC)


def now() -> datetime:
    """Now, at the millisecond that MongoDB keeps."""
    return moment(now_ms())


def iso(at: datetime) -> str:
    """`2026-01-31T09:30:00.000Z`"""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def day_of(at: datetime) -> str:
    """`2026-01-31`, of an aware UTC datetime."""
    return at.date().isoformat()


def start_of(day: str) -> datetime:
    """The first moment of `2026-01-31`, UTC. Raises ValueError."""
    return datetime.strptime(day, "%Y-%m-%d").replace(tzinfo=UTC)
