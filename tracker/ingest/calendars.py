"""The calendars in which a drain counts its accounts' days, and the fences that keep them current.

A drain caches calendars under a token. `raise_fences` writes a new token to every slot's fence.
Each transaction of a drain writes its slot's fence and reads the token. So it ends before the new
token is written, or conflicts with it, or reads it and counts again.

Guarantee: after `raise_fences` returns, no drain counts in older calendars, however slow it is.
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
from tracker.stores.mongodb.transaction import Session

_MAX_ACCOUNTS: Final = 100_000
"""Accounts whose calendars stay in memory; beyond it the cache is emptied."""

_UNREAD: Final = "unread"


class StaleCalendars(Exception):
    """The transaction counts in outdated calendars. `token` is the current one."""

    def __init__(self, token: str | None) -> None:
        super().__init__()
        self.token = token


class KnownCalendars(NamedTuple):
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
        self._known: dict[bytes, tuple[Calendar, ...]] = {}

    async def of(self, account_ids: Collection[bytes], slot: int) -> KnownCalendars:
        if self._token == _UNREAD:
            fence = await self._database["drain_fences"].find_one({"_id": slot})
            self.renew(fence.get("token") if fence else None)
        if len(self._known) > _MAX_ACCOUNTS:
            self.renew(self._token)
        token, known = self._token, self._known
        if missing := [one for one in account_ids if one not in known]:
            known.update(await self._read(missing))
        found = {one: known[one] for one in account_ids if known.get(one, _UTC_ONLY) != _UTC_ONLY}
        return KnownCalendars(token, found)

    async def check(self, known: KnownCalendars, slot: int, session: Session) -> int:
        """Write the slot's fence, and return the number of the slot's transaction.

        Raises StaleCalendars if a newer token is found.
        """
        answer = await self._database.command(
            {
                "findAndModify": "drain_fences",
                "query": {"_id": slot},
                "update": {"$inc": {"batches": 1}},
                "upsert": True,
                "new": True,
            },
            session=session,
        )
        token = answer["value"].get("token")
        if token != known.token:
            raise StaleCalendars(token)
        return int(answer["value"]["batches"])

    def renew(self, token: str | None) -> None:
        self._token, self._known = token, {}

    async def _read(self, account_ids: Collection[bytes]) -> dict[bytes, tuple[Calendar, ...]]:
        found = dict.fromkeys(account_ids, _UTC_ONLY)
        accounts = with_byte_ids(self._database["accounts"])
        async for row in accounts.find({"_id": {"$in": stored_ids(account_ids)}}, FIELDS):
            found[row["_id"]] = zone_from_row(row).calendars
        return found


async def raise_fences(database: Database) -> None:
    """Wait until every drain counts in the accounts' current calendars.

    Raises PyMongoError if a transaction stays open for long; raise the fences again then.
    """
    token = {"$set": {"token": uuid4().hex}}
    fences: list[dict[str, Any]] = [
        {"q": {"_id": slot}, "u": token, "upsert": True} for slot in range(DRAIN_NUMBERS)
    ]
    await run_updates(database, "drain_fences", fences)


_UTC_ONLY: Final = UTC_ACCOUNT.calendars
