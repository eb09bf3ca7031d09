"""Time as the service writes it: milliseconds since the epoch inside, ISO 8601 UTC outside."""

import time
from datetime import UTC, datetime


def now_ms() -> int:
    """Milliseconds since the Unix epoch."""
    return time.time_ns() // 1_000_000


def moment(ms: int) -> datetime:
    """The aware UTC datetime that MongoDB stores for `ms`."""
    return datetime.fromtimestamp(ms / 1000, UTC)


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
