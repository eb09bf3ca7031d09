"""How often each share was opened: counted in memory, and added to the stored shares in groups.

The handler of shares counts an opening once it has the report to answer with. So wrong passwords,
links that ended, and reports that were refused do not count; a reload does.
"""

import asyncio
from collections import defaultdict
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec
from pymongo import UpdateOne

from tracker.clock import now
from tracker.stores.mongodb.database import MongoDB

FLUSH_SECONDS: Final = 10.0
"""The time that openings may be uncounted, and that a killed process may lose. A process writes a
share at most once in it, however often that is opened."""


class _Opened(msgspec.Struct):
    number: int = 0
    last_at: datetime | None = None


class ShareOpens:
    """The openings that this process has counted and not yet stored."""

    def __init__(self, mongodb: MongoDB) -> None:
        self._shares = mongodb["shares"]
        self._opened: dict[UUID, _Opened] = defaultdict(_Opened)

    def count(self, share_id: UUID) -> None:
        self.note(share_id)
        self._opened[share_id].number += 1

    def note(self, share_id: UUID) -> None:
        """Note the time at which an open share was read again."""
        self._opened[share_id].last_at = now()

    async def keep_storing(self) -> None:
        """Store what was counted, every FLUSH_SECONDS."""
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            await self.store()

    async def store(self) -> None:
        """Add what was counted to the stored shares.

        After an error it is not counted again, because it may be stored.
        """
        if not self._opened:
            return
        opened, self._opened = self._opened, defaultdict(_Opened)
        await self._shares.bulk_write(
            [
                UpdateOne(
                    {"_id": share_id},
                    {"$inc": {"opens": one.number}, "$max": {"last_opened_at": one.last_at}},
                )
                for share_id, one in opened.items()
            ],
            ordered=False,
        )
