"""The answers of visitors who were asked for consent after their click, one for each click.

`POST /api/consent` records them durably before its answer. Webhooks read them.
"""

from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from pymongo.errors import PyMongoError

from tracker.clock import now
from tracker.conversions.look_ups import LookUps
from tracker.errors import RateLimited, Unavailable
from tracker.limits.allowance import Allowance
from tracker.stores.batch import Batch
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import StoredId, run_updates, stored_ids
from tracker.stores.mongodb.reads import MongoReads

KNOWN_DAYS: Final = 400
UNKNOWN_DAYS: Final = 120
"""The days that an answer is kept, by whether its click was stored."""

_MAX_WAITING: Final = 5_000
_RETRY_SECONDS: Final = 10


class Consents:
    """Records answers in groups (`stores/batch`). The last one about a click counts."""

    def __init__(self, mongodb: MongoDB, look_ups: LookUps, pending: Allowance) -> None:
        self._database = mongodb.database
        self._look_ups = look_ups
        self._pending = pending
        self._batch = Batch[dict[str, Any], None](self._store, waiting_items=_MAX_WAITING)

    async def record(self, click_id: UUID, consent: str, client: str) -> None:
        """Store an answer about a click, which may not be stored yet.

        Raises RateLimited if the network of `client` has named too many such clicks, and
        Unavailable if the answer may not be stored. Sending it again is safe.
        """
        owner = await self._look_ups.owners.submit(click_id.bytes)
        if self._look_ups.mongodb.is_open:
            raise _unavailable()
        if owner is None and not self._pending.use(client):
            message = "click_id: too many answers from this address name clicks that are not stored"
            raise RateLimited(message, _RETRY_SECONDS)
        at = now()
        expiry = at + timedelta(days=UNKNOWN_DAYS if owner is None else KNOWN_DAYS)
        stored = {"consent": consent, "at": at, "expires_at": expiry}
        which = {"_id": StoredId(click_id.bytes)}
        await self._batch.submit({"q": which, "u": {"$set": stored}, "upsert": True})

    async def _store(self, updates: list[dict[str, Any]]) -> Sequence[None]:
        try:
            last = {one["q"]["_id"]: one for one in updates}
            await run_updates(self._database, "consents", list(last.values()))
        except PyMongoError as error:
            self._look_ups.mongodb.record_failure(error)
            raise _unavailable() from error
        return [None] * len(updates)


def _unavailable() -> Unavailable:
    return Unavailable("storage is unavailable; try again", {"Retry-After": str(_RETRY_SECONDS)})


async def consents_of(reads: MongoReads, click_ids: Collection[bytes]) -> dict[bytes, str]:
    """Return the last answers about clicks, `granted` or `denied`, by click id."""
    if not click_ids:
        return {}
    matching, limit = {"_id": {"$in": stored_ids(click_ids)}}, len(click_ids)
    rows = await reads.with_binary_ids().find("consents", matching, ["consent"], limit=limit)
    return {bytes(row["_id"]): row["consent"] for row in rows}
