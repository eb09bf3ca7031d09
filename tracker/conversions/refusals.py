"""Refused postbacks, stored for accounts that search for a missing conversion.

The handlers of `/api/event` record refusals. A loop stores them once a second, so no answer waits.

- An account has its newest MAX_STORED of STORED_DAYS, and the number of all by reason.
- A request belongs to the account of its postback key, in any state, else to its click's account.
- Beyond MAX_WAITING in a second, and while MongoDB does not answer, they are dropped and counted.
- A killed process loses its last second: a refusal is not a conversion.
"""

import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Any, Final, NamedTuple
from urllib.parse import quote, quote_plus
from uuid import UUID

import msgspec
from pymongo import UpdateOne
from pymongo.errors import PyMongoError

from tracker.clock import moment, now, now_ms
from tracker.conversions.look_ups import LookUps
from tracker.conversions.postbacks.aliases import BadAlias
from tracker.conversions.redaction import RedactedRequest, redacted
from tracker.errors import TrackerError
from tracker.ids import new_id
from tracker.metrics import POSTBACKS_NOT_STORED, POSTBACKS_REFUSED
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import as_document
from tracker.stores.mongodb.paging import Pages

STORED_DAYS: Final = 7
MAX_STORED: Final = 1000
"""Refusals of one account; the oldest are deleted."""
MAX_WAITING: Final = 200
_MAX_PER_FLUSH: Final = 100
"""Refusals that one account stores at once. Further refusals are only counted."""


class RefusalReason(StrEnum):
    """The part of a request that is at fault."""

    PBK = "pbk"
    CLICK_ID = "click_id"
    VALUE = "value"
    TRANSACTION_ID = "transaction_id"
    METADATA = "metadata"
    STATUS = "status"
    CURRENCY = "currency"
    OCCURRED_AT = "occurred_at"
    CONSENT = "consent"
    RATE = "rate"
    REQUEST = "request"


_REFUSING: Final = (400, 404, 413, 429)
_BY_FIELD: Final = {
    **{one.value: one for one in RefusalReason},
    "txid": RefusalReason.TRANSACTION_ID,
}
_BY_STATUS: Final = {429: RefusalReason.RATE, 413: RefusalReason.REQUEST}

for _reason in RefusalReason:
    POSTBACKS_REFUSED.labels(_reason)


def reason_of(error: TrackerError) -> RefusalReason:
    """Return the parameter at fault: the alias's, or the first word of the error's message."""
    if isinstance(error, BadAlias):
        return RefusalReason(error.parameter)
    field = error.message.partition(":")[0]
    return _BY_STATUS.get(error.status) or _BY_FIELD.get(field, RefusalReason.REQUEST)


class RefusedRequest(NamedTuple):
    """A refused request, as it was received."""

    at: int
    method: str
    query: bytes
    body: bytes
    reason: RefusalReason
    status: int
    error: str


class RefusedPostback(msgspec.Struct, frozen=True, kw_only=True):
    """A stored refusal. `query` and `body` have no secrets."""

    id: UUID
    account_id: UUID
    at: datetime
    method: str
    reason: RefusalReason
    status: int
    error: str
    query: str
    body: str
    event_config_id: UUID | None
    click_id: UUID | None


class Refusals:
    """The refused postbacks of all accounts. Recorded ones wait in memory until they are stored."""

    def __init__(self, mongodb: MongoDB, look_ups: LookUps) -> None:
        self._stored = mongodb["refused_postbacks"]
        self._counts = mongodb["refused_postback_counts"]
        self._pages = Pages(mongodb.reads, "refused_postbacks", RefusedPostback)
        self._reader = mongodb.reads
        self._look_ups = look_ups
        self._waiting: list[RefusedRequest] = []

    def record(self, method: str, query: bytes, body: bytes, error: TrackerError) -> None:
        """Record a request, if its `error` refuses a conversion."""
        if error.status not in _REFUSING:
            return
        reason = reason_of(error)
        POSTBACKS_REFUSED.labels(reason).inc()
        if len(self._waiting) >= MAX_WAITING:
            POSTBACKS_NOT_STORED.inc()
            return
        self._waiting.append(
            RefusedRequest(now_ms(), method, query, body, reason, error.status, error.message)
        )

    async def store(self) -> None:
        """Store the waiting refusals. They are dropped if MongoDB fails. Raises PyMongoError."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        try:
            for account_id, refused in (await self._by_account(waiting)).items():
                await self._store(account_id, refused)
        except PyMongoError:
            POSTBACKS_NOT_STORED.inc(len(waiting))
            raise

    async def page(
        self,
        account_id: UUID,
        reason: RefusalReason | None,
        page: int,
        page_size: int,
        search: str = "",
    ) -> tuple[list[RefusedPostback], int]:
        """Return a page, newest first, and the number of stored refusals.

        `search` is a part of the request, encoded or not; case is ignored.
        """
        wanted: dict[str, Any] = {} if reason is None else {"reason": reason}
        if search:
            spellings = {search, quote(search, safe=""), quote_plus(search)}
            found = re.compile("|".join(map(re.escape, sorted(spellings))), re.IGNORECASE)
            wanted["$or"] = [{"query": found}, {"body": found}]
        return await self._pages.find({"account_id": account_id, **wanted}, page, page_size)

    async def counts(self, account_id: UUID) -> dict[RefusalReason, int]:
        """Return the number of all refusals in STORED_DAYS days of UTC, by reason."""
        first = (now() - timedelta(days=STORED_DAYS - 1)).date()
        ids = [_day_id(account_id, first + timedelta(days=day)) for day in range(STORED_DAYS)]
        total = Counter[RefusalReason]()
        for row in await self._reader.find("refused_postback_counts", {"_id": {"$in": ids}}):
            total.update({one: row[one] for one in RefusalReason if one in row})
        return dict(total)

    async def _by_account(
        self, refused: Sequence[RefusedRequest]
    ) -> Mapping[UUID, Sequence[RefusedPostback]]:
        read = []
        for one in refused:
            # A long request takes up to 1.3 ms. Other tasks run in between.
            await asyncio.sleep(0)
            read.append((one, redacted(one.query, one.body)))
        configs = await self._configs({one.pbk for _, one in read if one.pbk})
        owners = await self._owners(one for _, one in read if one.pbk not in configs)
        found: defaultdict[UUID, list[RefusedPostback]] = defaultdict(list)
        for request, shown in read:
            config = configs.get(shown.pbk)
            account_id = config["account_id"] if config else owners.get(shown.click_id)
            if account_id is not None:
                found[account_id].append(_postback(account_id, request, shown, config))
        return found

    async def _configs(self, keys: set[str]) -> dict[str | None, dict[str, Any]]:
        """Return the configurations by postback key, in any state."""
        if not keys:
            return {}
        matching, fields = {"pbk": {"$in": list(keys)}}, ["account_id", "pbk"]
        rows = await self._reader.find("event_configs", matching, fields)
        return {row["pbk"]: row for row in rows}

    async def _owners(self, requests: Iterable[RedactedRequest]) -> dict[UUID | None, UUID | None]:
        clicks = list({one.click_id for one in requests if one.click_id})
        found = await asyncio.gather(*(self._look_ups.owners.submit(one.bytes) for one in clicks))
        return dict(zip(clicks, found, strict=True))

    async def _store(self, account_id: UUID, refused: Sequence[RefusedPostback]) -> None:
        newest = refused[-_MAX_PER_FLUSH:]
        await self._stored.insert_many([as_document(one) for one in newest], ordered=False)
        await self._counts.bulk_write(list(_counted(account_id, refused)), ordered=False)
        oldest = await self._stored.find_one(
            {"account_id": account_id}, {"_id": 1}, sort=[("_id", -1)], skip=MAX_STORED
        )
        if oldest is not None:
            await self._stored.delete_many(
                {"account_id": account_id, "_id": {"$lte": oldest["_id"]}}
            )


def _postback(
    account_id: UUID,
    request: RefusedRequest,
    shown: RedactedRequest,
    config: Mapping[str, Any] | None,
) -> RefusedPostback:
    return RefusedPostback(
        id=new_id(),
        account_id=account_id,
        at=moment(request.at),
        method=request.method,
        reason=request.reason,
        status=request.status,
        error=request.error,
        query=shown.query,
        body=shown.body,
        event_config_id=config["_id"] if config else None,
        click_id=shown.click_id,
    )


def _counted(account_id: UUID, refused: Sequence[RefusedPostback]) -> Iterable[UpdateOne]:
    by_day: defaultdict[date, Counter[str]] = defaultdict(Counter)
    for one in refused:
        by_day[one.at.date()][one.reason] += 1
    for day, counts in by_day.items():
        yield UpdateOne(
            {"_id": _day_id(account_id, day)},
            {"$inc": dict(counts), "$setOnInsert": {"at": refused[-1].at}},
            upsert=True,
        )


def _day_id(account_id: UUID, day: date) -> dict[str, Any]:
    return {"account_id": account_id, "day": day.isoformat()}
