"""How often each share was opened: counted in memory, and stored in batches.

An opening counts once its report can be answered. So wrong passwords, ended links and refused
reports do not count. A reload does.
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
"""The time between writes, which write each share once. A killed process loses its openings since
the last one."""


class _Opened(msgspec.Struct):
    number: int = 0
    last_at: datetime | None = None


class ShareOpens:
    """The openings that this process has counted and not yet stored."""

    def __init__(self, mongodb: MongoDB) -> None:
        self._shares = mongodb["shares"]
        self._opened: dict[UUID, _Opened] = defaultdict(_Opened)

    def count(self, share_id: UUID, number: int = 1) -> None:
        """Count an opening. With 0 only its time is updated: an open share is read again."""
        opened = self._opened[share_id]
        opened.number, opened.last_at = opened.number + number, now()

    async def keep_storing(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            await self.store()

    async def store(self) -> None:
        """Add the counts to the stored shares.

        After an error they are not added again, because they may be stored.
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
