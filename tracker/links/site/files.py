"""The texts under `/.well-known/` of domains, as visitors get them."""

import asyncio
import time
from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from uuid import UUID

from tracker.limits.oldest import drop_oldest
from tracker.links.domain import FILES
from tracker.stores.mongodb.reads import MongoReads

RECENT_SECONDS: Final = 0.5
MAX_RECENT: Final = 100
"""Domains whose texts are in memory, at most 128 KiB of each."""


class _Recent(NamedTuple):
    until: float
    texts: asyncio.Task[Mapping[str, Any] | None]


class DomainFiles:
    """The texts of all domains. Requests within RECENT_SECONDS share a query."""

    def __init__(self, reads: MongoReads) -> None:
        self._reads = reads
        self._recent: dict[UUID, _Recent] = {}

    async def find(self, domain_id: UUID, name: str) -> str | None:
        recent = self._recent.get(domain_id)
        if recent is None or recent.until < time.monotonic():
            query = self._reads.find_one("domains", {"_id": domain_id}, FILES)
            texts = asyncio.create_task(query)
            self._recent.pop(domain_id, None)
            self._recent[domain_id] = recent = _Recent(time.monotonic() + RECENT_SECONDS, texts)
            drop_oldest(self._recent, MAX_RECENT)
        found = await asyncio.shield(recent.texts)
        return found.get(name) if found else None
