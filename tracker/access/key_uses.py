"""When API keys were last used: noted in memory, and stored by one write for all keys.

The time of a key is written at most once a minute, by any process. A killed process loses the
times since its last write.
"""

import asyncio
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from tracker.clock import now
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import run_updates

FLUSH_SECONDS: Final = 10.0
INTERVAL: Final = timedelta(minutes=1)

_MAX_WAITING: Final = 100_000
"""Keys whose time may wait. Uses of further keys are not noted."""

_KEYS_PER_COMMAND: Final = 1000


class KeyUses:
    """The uses of keys in this process. `known` is the time that a key was read with."""

    def __init__(self, mongodb: MongoDB) -> None:
        self._database = mongodb.database
        self._waiting: dict[UUID, datetime] = {}
        self._written: dict[UUID, datetime] = {}

    def note(self, key_id: UUID, known: datetime | None) -> None:
        at, last = now(), self.latest(key_id, known)
        is_due = last is None or at - last >= INTERVAL
        if is_due and len(self._waiting) < _MAX_WAITING:
            self._waiting[key_id] = at

    def latest(self, key_id: UUID, known: datetime | None) -> datetime | None:
        """Return the time of the last use, as far as this process knows."""
        last = self._waiting.get(key_id) or self._written.get(key_id)
        return max(last, known) if last and known else last or known

    async def keep_storing(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            await self.store()

    async def store(self) -> None:
        """Write the times that wait. They are dropped if MongoDB fails. Raises PyMongoError."""
        waiting, self._waiting = self._waiting, {}
        recent = now() - INTERVAL
        self._written = {one: at for one, at in self._written.items() if at > recent} | waiting
        updates = [
            {
                "q": {"_id": one, "last_used_at": {"$not": {"$gt": at - INTERVAL}}},
                "u": {"$set": {"last_used_at": at}},
            }
            for one, at in waiting.items()
        ]
        for start in range(0, len(updates), _KEYS_PER_COMMAND):
            some = updates[start : start + _KEYS_PER_COMMAND]
            await run_updates(self._database, "api_keys", some)
