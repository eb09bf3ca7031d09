"""Journals and spools of a test: what is appended to them, and what they replay."""

import asyncio
from collections.abc import AsyncIterator, MutableMapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from redis.asyncio import Redis

from tracker.journal.journal import Journal
from tracker.journal.spool import Spool
from tracker.metrics import REGISTRY
from tracker.stores.breaker import Breaker
from tracker.stores.redis.clients import redis_for_requests

Logs = Sequence[MutableMapping[str, Any]]


def messages(logs: Logs, level: str) -> list[str]:
    return [str(entry["event"]) for entry in logs if entry["log_level"] == level]


class Sink:
    """The receiver of a replay. It takes nothing of a batch with the payload `refuses`."""

    def __init__(self, refuses: bytes | None = None) -> None:
        self.taken: list[bytes] = []
        self.refuses = refuses

    async def send(self, payloads: Sequence[bytes]) -> None:
        await asyncio.sleep(0)
        if self.refuses in payloads:
            raise RuntimeError("refused")
        self.taken.extend(payloads)


@asynccontextmanager
async def journal_at(
    url: str,
    folder: Path,
    max_bytes: int = 1024**3,
    partitions: int = 1,
    breaker: Breaker | None = None,
) -> AsyncIterator[tuple[Journal, Redis]]:
    """Yield a journal with its spool in `folder`, and its Redis."""
    async with redis_for_requests(url) as redis:
        spool = Spool(folder / "spool", max_bytes)
        built = Journal(redis, breaker or Breaker(), spool, partitions)
        try:
            yield built, redis
        finally:
            await built.close()


@asynccontextmanager
async def opened(folder: Path, max_bytes: int = 1024**3) -> AsyncIterator[Spool]:
    spool = Spool(folder, max_bytes)
    try:
        yield spool
    finally:
        await spool.close()


async def spooled(folder: Path, payloads: Sequence[bytes]) -> Path:
    """Return a file with these entries that nobody holds."""
    before = set(folder.glob("*"))
    async with opened(folder) as spool:
        for payload in payloads:
            await spool.append(payload)
    (path,) = set(folder.glob("*")) - before
    return path


async def replayed(folder: Path) -> list[bytes]:
    sink = Sink()
    async with opened(folder) as spool:
        assert await spool.replay(sink.send) == len(sink.taken)
    return sink.taken


def restored() -> float:
    """Return how often a spool of this process has written a file again."""
    return REGISTRY.get_sample_value("tracker_spool_files_restored_total") or 0.0


def sizes(folder: Path) -> dict[str, int]:
    return {one.name: one.stat().st_size for one in sorted(folder.glob("*"))}
