"""The calendars in which a drain counts its accounts' days, and the parameters of their clicks.

Guarantee: a drain counts each click and conversion in the calendar that reports read, however late
it is. A cached calendar is right for what happened until some minutes after it was read
(`accounts/time_zones`), and is read again for newer ones.
"""

from collections.abc import Collection
from datetime import UTC, datetime
from typing import Final

from tracker.accounts import parameters
from tracker.accounts.accounts import COST_FIELD
from tracker.accounts.time_zones import FIELDS, IS_COUNTED, KNOWN_FOR, zones_from_row
from tracker.calendar import DEFAULT_ZONE, Calendar, calendar_of
from tracker.clicks.enrich import COST_PARAMETER, AccountParameters
from tracker.clock import now
from tracker.reports.rollups.rollup import Calendars
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import stored_ids, with_byte_ids

_MAX_ACCOUNTS: Final = 100_000
"""Accounts whose calendars stay in memory; beyond it the cache is emptied."""

_READ: Final = (*FIELDS, COST_FIELD, parameters.FIELD)
_UTC: Final = calendar_of(DEFAULT_ZONE)


class AccountCalendars:
    """One drain's cache of its accounts' calendars.

    `parameters` has the choices of accounts that have made one.
    """

    def __init__(self, mongodb: MongoDB) -> None:
        self._database = mongodb.database
        self._cached: dict[bytes, Calendar] = {}
        self.parameters: dict[bytes, AccountParameters] = {}
        self._right_until = datetime.min.replace(tzinfo=UTC)

    async def get(self, account_ids: Collection[bytes], newest: datetime) -> Calendars:
        """Return the calendars, other than UTC, for clicks and conversions up to `newest`."""
        if newest >= self._right_until or len(self._cached) > _MAX_ACCOUNTS:
            self._cached, self._right_until = {}, now() + KNOWN_FOR
            self.parameters = {}
        cached = self._cached
        if missing := [one for one in account_ids if one not in cached]:
            cached.update(await self._read(missing))
        return {one: cached[one] for one in account_ids if cached[one] is not _UTC}

    async def _read(self, account_ids: Collection[bytes]) -> dict[bytes, Calendar]:
        found = dict.fromkeys(account_ids, _UTC)
        accounts = with_byte_ids(self._database["accounts"])
        ids = {"$in": stored_ids(account_ids)}
        # Before it is read: from then on only a following day has another zone.
        first = {"_id": ids, IS_COUNTED: None}
        await accounts.update_many(first, {"$set": {IS_COUNTED: True}})
        # Nearly all have none of the fields, and are not sent.
        with_any = [{name: {"$exists": True}} for name in _READ]
        matching = {"_id": ids, "$or": with_any}
        async for row in accounts.find(matching, _READ):
            found[row["_id"]] = zones_from_row(row).calendar
            if COST_FIELD in row or parameters.FIELD in row:
                self.parameters[row["_id"]] = AccountParameters(
                    row.get(COST_FIELD, COST_PARAMETER),
                    parameters.fields_of(parameters.positions_in(row)),
                )
        return found
