"""The answers of visitors who were asked for consent after their click, one for each click.

`POST /api/consent` records them durably before its answer; the last one counts. Webhooks read them.
"""

from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

from pymongo.errors import PyMongoError

from tracker.clock import now
from tracker.conversions.look_ups import LookUps
from tracker.errors import RateLimited, Unavailable
from tracker.limits.allowance import Allowance
from tracker.stores.batch import Batch
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import StoredId, run_updates, stored_ids

_COLLECTION: Final = "consents"
_MAX_WAITING: Final = 5_000
_RETRY_SECONDS: Final = 10

KNOWN_DAYS: Final = 400
"""No later report of a conversion is taken (`postbacks/times.MAX_DAYS_AGO`)."""
UNKNOWN_DAYS: Final = 120
"""The click may still be in the journal, or none. A sender's share is that of conversions without
an account, which take four times the room for 30 days."""


class _Answer(NamedTuple):
    click_id: bytes
    consent: str
    is_known: bool


class Consents:
    """Records answers in groups (`stores/batch`). `pending` is shared with conversions."""

    def __init__(self, mongodb: MongoDB, look_ups: LookUps, pending: Allowance) -> None:
        self._database = mongodb.database
        self._look_ups = look_ups
        self._pending = pending
        self._batch = Batch[_Answer, None](self._store, waiting_items=_MAX_WAITING)

    async def record(self, click_id: UUID, consent: str, client: str) -> None:
        """Store the answer about a click, whether or not that is stored yet.

        Raises RateLimited if the network of `client` has named too many clicks that are not, and
        Unavailable if the answer may not be stored. Sending it again is safe.
        """
        owner = await self._look_ups.owners.submit(click_id.bytes)
        if self._look_ups.mongodb.is_open:
            raise _unavailable()
        if owner is None and not self._pending.use(client):
            message = "click_id: too many answers from this address name clicks that are not stored"
            raise RateLimited(message, _RETRY_SECONDS)
        await self._batch.submit(_Answer(click_id.bytes, consent, owner is not None))

    async def _store(self, answers: list[_Answer]) -> Sequence[None]:
        last = {one.click_id: one for one in answers}
        try:
            await run_updates(self._database, _COLLECTION, list(map(_statement, last.values())))
        except PyMongoError as error:
            self._look_ups.mongodb.record_failure(error)
            raise _unavailable() from error
        return [None] * len(answers)


def _unavailable() -> Unavailable:
    return Unavailable("storage is unavailable; try again", {"Retry-After": str(_RETRY_SECONDS)})


def _statement(answer: _Answer) -> dict[str, Any]:
    at = now()
    expiry = at + timedelta(days=KNOWN_DAYS if answer.is_known else UNKNOWN_DAYS)
    stored = {"consent": answer.consent, "at": at, "expires_at": expiry}
    return {"q": {"_id": StoredId(answer.click_id)}, "u": {"$set": stored}, "upsert": True}


async def consents_of(mongodb: MongoDB, click_ids: Collection[bytes]) -> dict[bytes, str]:
    """Return the last answers about clicks, `granted` or `denied`, by click id."""
    if not click_ids:
        return {}
    reads, wanted = mongodb.reads.with_binary_ids(), stored_ids(click_ids)
    rows = await reads.find(_COLLECTION, {"_id": {"$in": wanted}}, ["consent"], limit=len(wanted))
    return {bytes(row["_id"]): row["consent"] for row in rows}
