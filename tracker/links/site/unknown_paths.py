"""Unknown paths: what visitors of proven custom domains asked for, and no link has.

- A domain has at most MAX_STORED, the ones asked for last, for 30 days (`stores/mongodb/indexes`).
- Requests that find no room, here or in MongoDB, are counted under NO_ROOM. So are new paths of a
  client with too many unknown names.
- A killed process loses its last FLUSH_SECONDS, and a failed write what it would have stored.
"""

from datetime import datetime
from typing import Any, Final
from uuid import UUID

import msgspec
from pymongo import UpdateOne

from tracker.clock import now
from tracker.limits.allowance import Allowance
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.transaction import MongoSession, run_in_transaction

MAX_STORED: Final = 1_000
MAX_WAITING: Final = 1_000
"""Paths of all domains in memory. Requests without room are counted for as many domains."""
FLUSH_SECONDS: Final = 5.0
MAX_PATH_BYTES: Final = 255
NO_ROOM: Final = ""
"""In place of a path. What has no path is the root."""

_LIST: Final[dict[str, Any]] = {"sort": [("last_at", -1)], "hint": "by_domain"}


class Asked(msgspec.Struct):
    """The requests for a path; `referrer` is the last one's host."""

    first_at: datetime
    last_at: datetime
    count: int = 0
    referrer: str | None = None


class UnknownPaths:
    """The unknown paths of all domains. `misses` limits the unknown names of a client."""

    def __init__(self, mongodb: MongoDB, misses: Allowance) -> None:
        self._database = mongodb.database
        self._stored = mongodb["unknown_paths"]
        self._reads = mongodb.reads
        self._misses = misses
        self._waiting: dict[tuple[str, str], Asked] = {}

    def record(self, namespace: str, path: str, referrer: str | None, address: str) -> None:
        """Count a request of the client at `address` for a decoded path."""
        key = namespace, path.encode(errors="replace")[:MAX_PATH_BYTES].decode(errors="ignore")
        at, asked = now(), self._waiting.get(key)
        if asked is None:
            waiting = len(self._waiting)
            if waiting >= MAX_WAITING or self._misses.is_used_up(address):
                key = namespace, NO_ROOM
            if waiting >= 2 * MAX_WAITING and key not in self._waiting:
                return
            asked = self._waiting.setdefault(key, Asked(at, at))
        asked.count, asked.last_at, asked.referrer = asked.count + 1, at, referrer

    async def store(self) -> None:
        waiting, self._waiting = self._waiting, {}
        if waiting:
            counted = (_counted(UUID(of), path, one) for (of, path), one in waiting.items())
            written = await self._stored.bulk_write(list(counted), ordered=False)
            added = (written.upserted_ids or {}).values()
            stages: list[dict[str, Any]] = [
                {"$match": {"_id.domain_id": {"$in": list({one["domain_id"] for one in added})}}},
                {"$group": {"_id": "$_id.domain_id", "paths": {"$sum": 1}}},
                {"$match": {"paths": {"$gt": MAX_STORED}}},
            ]
            for row in await self._reads.aggregate("unknown_paths", stages):
                await self._drop_excess(row["_id"])

    async def find(self, domain_id: UUID) -> dict[str, Asked]:
        """Return what was asked for by path, the last first, and what found no room."""
        of_domain = {"_id.domain_id": domain_id}
        rows = await self._reads.find("unknown_paths", of_domain, limit=MAX_STORED, **_LIST)
        return {row["_id"]["path"]: msgspec.convert(row, Asked) for row in rows}

    async def _drop_excess(self, domain_id: UUID) -> None:
        async def drop(session: MongoSession) -> None:
            of_domain = {"_id.domain_id": domain_id}
            rows = self._stored.find(of_domain, skip=MAX_STORED, session=session, **_LIST)
            if excess := await rows.to_list(None):
                ids = [row["_id"] for row in excess]
                await self._stored.delete_many({"_id": {"$in": ids}}, session=session)
                lost = Asked(now(), now(), sum(row["count"] for row in excess))
                await self._stored.bulk_write([_counted(domain_id, NO_ROOM, lost)], session=session)

        await run_in_transaction(self._database, drop)


def _counted(domain_id: UUID, path: str, asked: Asked) -> UpdateOne:
    return UpdateOne(
        {"_id": {"domain_id": domain_id, "path": path}},
        {
            "$inc": {"count": asked.count},
            "$min": {"first_at": asked.first_at},
            "$max": {"last_at": asked.last_at},
            "$set": {"referrer": asked.referrer},
        },
        upsert=True,
    )
