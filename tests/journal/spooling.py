"""Spools of a test: what is appended to them, and what they replay."""

import asyncio
from collections.abc import AsyncIterator, MutableMapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tracker.journal.spool import Spool
from tracker.metrics import REGISTRY

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
