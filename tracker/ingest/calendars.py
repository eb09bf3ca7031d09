"""The calendars in which a drain counts its accounts' days, and the tokens that keep them current.

A drain caches calendars under a token, which is in a document for its number (`drain_fences`).
Each transaction of the drain writes the document and reads the token. `renew_tokens` writes new
ones. So a transaction ends before that, or conflicts with it, or reads the new token and counts
again.

Guarantee: after `renew_tokens` returns, no drain counts in older calendars, however slow it is.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple
from uuid import uuid4

from tracker.accounts.time_zones import FIELDS, UTC_ACCOUNT, zone_from_row
from tracker.calendar import Calendar
from tracker.ingest.drain_number import DRAIN_NUMBERS
from tracker.reports.rollups.rollup import Calendars
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import run_updates, stored_ids, with_byte_ids
from tracker.stores.mongodb.drivers import Database
from tracker.stores.mongodb.transaction import MongoSession

_MAX_ACCOUNTS: Final = 100_000
"""Accounts whose calendars stay in memory; beyond it the cache is emptied."""

_UNREAD: Final = "unread"


class StaleCalendars(Exception):
    """The transaction counts in outdated calendars. `token` is the current one."""

    def __init__(self, token: str | None) -> None:
        super().__init__()
        self.token = token


class CachedCalendars(NamedTuple):
    """The calendars of the accounts that use any other than UTC, valid under a token."""

    token: str | None
    calendars: Calendars

    def current(self) -> Mapping[bytes, Calendar]:
        """Return the calendar that reports read, by account."""
        return {account_id: found[0] for account_id, found in self.calendars.items()}


class AccountCalendars:
    """One drain's cache of its accounts' calendars."""

    def __init__(self, mongodb: MongoDB) -> None:
        self._database = mongodb.database
        self._token: str | None = _UNREAD
        self._cached: dict[bytes, tuple[Calendar, ...]] = {}

    async def get(self, account_ids: Collection[bytes], drain_number: int) -> CachedCalendars:
        if self._token == _UNREAD:
            stored = await self._database["drain_fences"].find_one({"_id": drain_number})
            self.reset(stored.get("token") if stored else None)
        if len(self._cached) > _MAX_ACCOUNTS:
            self.reset(self._token)
        token, cached = self._token, self._cached
        if missing := [one for one in account_ids if one not in cached]:
            cached.update(await self._read(missing))
        found = {one: cached[one] for one in account_ids if cached.get(one, _UTC_ONLY) != _UTC_ONLY}
        return CachedCalendars(token, found)

    async def check(self, cached: CachedCalendars, drain_number: int, session: MongoSession) -> int:
        """Write the document of the token; return the number of this transaction.

        Raises StaleCalendars if a newer token is found.
        """
        answer = await self._database.command(
            {
                "findAndModify": "drain_fences",
                "query": {"_id": drain_number},
                "update": {"$inc": {"batches": 1}},
                "upsert": True,
                "new": True,
            },
            session=session,
        )
        token = answer["value"].get("token")
        if token != cached.token:
            raise StaleCalendars(token)
        return int(answer["value"]["batches"])

    def reset(self, token: str | None) -> None:
        self._token, self._cached = token, {}

    async def _read(self, account_ids: Collection[bytes]) -> dict[bytes, tuple[Calendar, ...]]:
        found = dict.fromkeys(account_ids, _UTC_ONLY)
        accounts = with_byte_ids(self._database["accounts"])
        # Nearly all have none of the fields, and are not sent.
        with_any = [{name: {"$exists": True}} for name in FIELDS]
        matching = {"_id": {"$in": stored_ids(account_ids)}, "$or": with_any}
        async for row in accounts.find(matching, FIELDS):
            found[row["_id"]] = zone_from_row(row).calendars
        return found


async def renew_tokens(database: Database) -> None:
    """Wait until every drain counts in the accounts' current calendars.

    Raises PyMongoError if a transaction stays open for long; call this again then.
    """
    token = {"$set": {"token": uuid4().hex}}
    updates: list[dict[str, Any]] = [
        {"q": {"_id": number}, "u": token, "upsert": True} for number in range(DRAIN_NUMBERS)
    ]
    await run_updates(database, "drain_fences", updates)


_UTC_ONLY: Final = UTC_ACCOUNT.calendars
