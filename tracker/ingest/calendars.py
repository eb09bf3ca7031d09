"""The calendars that a drain counts its accounts' days in, and how it never counts in old ones.

A drain remembers the calendars of accounts. A change of calendars is a fence: whoever makes it
writes a new token to the fence of every slot (`raise_fences`). A drain writes the fence of its slot
after the rollups of each transaction, and reads the token. So each of its transactions

- ends before the new token is written, which waits for it,
- or conflicts with it, and is tried again,
- or reads it. If that is not the token under which the drain knows its calendars, it reads them
  again, and counts the batch again.

Guarantee: after `raise_fences` returns, nothing is counted in the calendars of before, whatever
drains are slow, suspended or cut off. No clock is involved.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple
from uuid import uuid4

from tracker.accounts.time_zones import FIELDS, UTC_ACCOUNT, zone_in
from tracker.calendar import Calendar
from tracker.ingest.drain_number import DRAIN_NUMBERS
from tracker.reports.rollups.rollup import Calendars
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import run_updates, stored_ids, with_byte_ids
from tracker.stores.mongodb.drivers import Database
from tracker.stores.mongodb.transaction import Session

_MAX_ACCOUNTS: Final = 100_000
"""Accounts whose calendars stay in memory; beyond it all are read again."""

_UNREAD: Final = "unread"
"""Stands for the token of a drain that has read none yet."""


class StaleCalendars(Exception):
    """The end of a transaction that counts in calendars of before. `token` is the current one."""

    def __init__(self, token: str | None) -> None:
        super().__init__()
        self.token = token


class KnownCalendars(NamedTuple):
    """The calendars of those accounts that count in others than UTC, valid under a token."""

    token: str | None
    calendars: Calendars

    def current(self) -> Mapping[bytes, Calendar]:
        """Return the calendar that reports read, for each of the accounts."""
        return {account_id: found[0] for account_id, found in self.calendars.items()}


class AccountCalendars:
    """The calendars of accounts, as one drain knows them."""

    def __init__(self, mongodb: MongoDB) -> None:
        self._database = mongodb.database
        self._token: str | None = _UNREAD
        self._known: dict[bytes, tuple[Calendar, ...]] = {}

    async def of(self, account_ids: Collection[bytes], slot: int) -> KnownCalendars:
        """Return what is known of these accounts; `slot` is that of the drain.

        Raises PyMongoError if MongoDB has to be asked and does not answer.
        """
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
        """Write the fence of the slot, in the transaction that counts in these calendars.

        Return the number of the transaction in its slot. Raises StaleCalendars if they are not
        valid any more.
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
        """Forget the calendars of before that token."""
        self._token, self._known = token, {}

    async def _read(self, account_ids: Collection[bytes]) -> dict[bytes, tuple[Calendar, ...]]:
        found = dict.fromkeys(account_ids, _UTC_ONLY)
        accounts = with_byte_ids(self._database["accounts"])
        async for row in accounts.find({"_id": {"$in": stored_ids(account_ids)}}, FIELDS):
            found[row["_id"]] = zone_in(row).calendars
        return found


async def raise_fences(database: Database) -> None:
    """Wait until no drain counts in calendars of before, as the accounts have changed by now.

    Raises PyMongoError if MongoDB does not answer, or a transaction stays open for long; the fences
    have to be raised again then.
    """
    token = {"$set": {"token": uuid4().hex}}
    fences: list[dict[str, Any]] = [
        {"q": {"_id": slot}, "u": token, "upsert": True} for slot in range(DRAIN_NUMBERS)
    ]
    await run_updates(database, "drain_fences", fences)


_UTC_ONLY: Final = UTC_ACCOUNT.calendars
