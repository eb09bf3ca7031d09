"""Refused postbacks, kept for accounts that look for a missing conversion.

The handlers of `/api/event` note refusals. A loop stores them once a second, so no answer waits.

- An account has the newest MAX_KEPT of KEPT_DAYS, and the number of all by their reason.
- A request belongs to the account of its postback key, in any state, or else of its click.
- Beyond MAX_WAITING in a second, and while MongoDB does not answer, they are dropped and counted.
- A killed process loses those of its last second: a refusal is not a conversion.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Any, Final, NamedTuple
from uuid import UUID

import msgspec
from pymongo import UpdateOne
from pymongo.errors import PyMongoError

from tracker.clock import moment, now, now_ms
from tracker.conversions.aliases import BadAlias
from tracker.conversions.look_ups import LookUps
from tracker.conversions.sent import Sent, sent
from tracker.errors import TrackerError
from tracker.ids import new_id
from tracker.metrics import POSTBACKS_NOT_STORED, POSTBACKS_REFUSED
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import as_document
from tracker.stores.mongodb.paging import Pages

KEPT_DAYS: Final = 7
MAX_KEPT: Final = 1000
"""An account keeps its newest."""
MAX_WAITING: Final = 200
_FLUSH_SECONDS: Final = 1.0
_MAX_OF_FLUSH: Final = 100
"""The most that one account stores at once; all are counted."""


class Reason(StrEnum):
    """The part of a request that was refused."""

    PBK = "pbk"
    CLICK_ID = "click_id"
    VALUE = "value"
    TRANSACTION_ID = "transaction_id"
    METADATA = "metadata"
    RATE = "rate"
    REQUEST = "request"


_REFUSING: Final = (400, 404, 413, 429)
_BY_FIELD: Final = {"txid": Reason.TRANSACTION_ID}
_BY_STATUS: Final = {429: Reason.RATE, 413: Reason.REQUEST}

for _reason in Reason:
    POSTBACKS_REFUSED.labels(_reason)


def reason_of(error: TrackerError) -> Reason:
    """Return the field that the message of an error names, or the parameter of an alias."""
    if isinstance(error, BadAlias):
        return Reason(error.parameter)
    field = error.message.partition(":")[0]
    known = field if field in set(Reason) else Reason.REQUEST
    return _BY_STATUS.get(error.status) or _BY_FIELD.get(field) or Reason(known)


class Refused(NamedTuple):
    """A request that was refused, as it came."""

    at: int
    method: str
    query: bytes
    body: bytes
    reason: Reason
    status: int
    error: str


class RefusedPostback(msgspec.Struct, frozen=True, kw_only=True):
    """A refused postback that is kept. `query` and `body` are without secrets."""

    id: UUID
    account_id: UUID
    at: datetime
    method: str
    reason: Reason
    status: int
    error: str
    query: str
    body: str
    event_config_id: UUID | None
    click_id: UUID | None


class Refusals:
    """The refused postbacks of all accounts, and this process's waiting ones."""

    def __init__(self, mongodb: MongoDB, look_ups: LookUps) -> None:
        self._kept = mongodb["refused_postbacks"]
        self._counts = mongodb["refused_postback_counts"]
        self._pages = Pages(mongodb.reads, "refused_postbacks", RefusedPostback)
        self._reader = mongodb.reads
        self._look_ups = look_ups
        self._waiting: list[Refused] = []

    def note(self, method: str, query: bytes, body: bytes, error: TrackerError) -> None:
        """Note a request, if its `error` refuses a conversion."""
        if error.status not in _REFUSING:
            return
        reason = reason_of(error)
        POSTBACKS_REFUSED.labels(reason).inc()
        if len(self._waiting) >= MAX_WAITING:
            POSTBACKS_NOT_STORED.inc()
            return
        self._waiting.append(
            Refused(now_ms(), method, query, body, reason, error.status, error.message)
        )

    async def keep_storing(self) -> None:
        while True:
            await asyncio.sleep(_FLUSH_SECONDS)
            await self.store()

    async def store(self) -> None:
        """Store the waiting refusals. They are dropped if MongoDB fails. Raises PyMongoError."""
        if not self._waiting:
            return
        noted, self._waiting = self._waiting, []
        try:
            for account_id, refused in (await self._by_account(noted)).items():
                await self._store(account_id, refused)
        except PyMongoError:
            POSTBACKS_NOT_STORED.inc(len(noted))
            raise

    async def page(
        self, account_id: UUID, reason: Reason | None, page: int, page_size: int
    ) -> tuple[list[RefusedPostback], int]:
        """Return a page, newest first, and the number of kept ones."""
        wanted = {} if reason is None else {"reason": reason}
        return await self._pages.find({"account_id": account_id, **wanted}, page, page_size)

    async def counts(self, account_id: UUID) -> dict[Reason, int]:
        """Return the number of all refusals in KEPT_DAYS days of UTC, by reason."""
        first = (now() - timedelta(days=KEPT_DAYS - 1)).date()
        ids = [_day_id(account_id, first + timedelta(days=day)) for day in range(KEPT_DAYS)]
        total = Counter[Reason]()
        for row in await self._reader.find("refused_postback_counts", {"_id": {"$in": ids}}):
            total.update({one: row[one] for one in Reason if one in row})
        return dict(total)

    async def _by_account(
        self, noted: Sequence[Refused]
    ) -> Mapping[UUID, Sequence[RefusedPostback]]:
        read = []
        for one in noted:
            # A long request takes up to 1.3 ms: others are served between two.
            await asyncio.sleep(0)
            read.append((one, sent(one.query, one.body)))
        configs = await self._configs({one.pbk for _, one in read if one.pbk})
        owners = await self._owners(one for _, one in read if one.pbk not in configs)
        found: defaultdict[UUID, list[RefusedPostback]] = defaultdict(list)
        for refused, request in read:
            config = configs.get(request.pbk)
            account_id = config["account_id"] if config else owners.get(request.click_id)
            if account_id is not None:
                found[account_id].append(_kept(account_id, refused, request, config))
        return found

    async def _configs(self, keys: set[str]) -> dict[str | None, dict[str, Any]]:
        """Return the configurations by postback key, in any state."""
        if not keys:
            return {}
        rows = await self._reader.find("event_configs", {"pbk": {"$in": list(keys)}}, _CONFIG)
        return {row["pbk"]: row for row in rows}

    async def _owners(self, requests: Iterable[Sent]) -> dict[UUID | None, UUID | None]:
        clicks = list({one.click_id for one in requests if one.click_id})
        found = await asyncio.gather(*(self._look_ups.owners.submit(one.bytes) for one in clicks))
        return dict(zip(clicks, found, strict=True))

    async def _store(self, account_id: UUID, refused: Sequence[RefusedPostback]) -> None:
        kept = refused[-_MAX_OF_FLUSH:]
        await self._kept.insert_many([as_document(one) for one in kept], ordered=False)
        await self._counts.bulk_write(list(_counted(account_id, refused)), ordered=False)
        oldest = await self._kept.find_one(
            {"account_id": account_id}, {"_id": 1}, sort=[("_id", -1)], skip=MAX_KEPT
        )
        if oldest is not None:
            await self._kept.delete_many({"account_id": account_id, "_id": {"$lte": oldest["_id"]}})


_CONFIG: Final = ["account_id", "pbk"]


def _kept(
    account_id: UUID, refused: Refused, request: Sent, config: Mapping[str, Any] | None
) -> RefusedPostback:
    return RefusedPostback(
        id=new_id(),
        account_id=account_id,
        at=moment(refused.at),
        method=refused.method,
        reason=refused.reason,
        status=refused.status,
        error=refused.error,
        query=request.query,
        body=request.body,
        event_config_id=config["_id"] if config else None,
        click_id=request.click_id,
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
