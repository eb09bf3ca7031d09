"""The retention of clicks: MongoDB deletes them by an index.

Which days may have lost clicks is recorded at each start, and read by the operators' checks. The
record only grows: a day whose clicks were deleted can never be counted again, whatever the operator
sets later.
"""

from datetime import timedelta
from typing import Any, Final

import pymongo
from pymongo.errors import OperationFailure

from tracker.clock import day_of, now
from tracker.stores.mongodb.drivers import UNLIMITED, Collection, Database

_EXPIRY: Final = "expiry"
_RECORD: Final = {"_id": "click_retention"}
_DAY_SECONDS: Final = 86_400
_NO_SUCH_INDEX: Final = 27


async def keep_clicks(database: Database, days: int) -> None:
    """Make MongoDB delete clicks `days` after they were stored; 0 means never.

    The days begin when a click is stored, not when it was made. Otherwise a late click could be
    gone before its journal entry is acknowledged, and the entry would count it again.
    """
    kept = {"$max": {"first_kept": await first_kept(database)}, "$set": {"days": days}}
    await database["counters"].update_one(_RECORD, kept, upsert=True)
    with pymongo.timeout(UNLIMITED):
        stored = (await database["clicks"].index_information()).get(_EXPIRY)
        await _change_expiry(database, stored and stored["expireAfterSeconds"], days * _DAY_SECONDS)


async def first_kept(database: Database) -> str:
    """Return the first day of which no click can have been deleted; empty if none ever was."""
    record: dict[str, Any] = await database["counters"].find_one(_RECORD) or {}
    days = record.get("days", 0)
    by_now = day_of(now() - timedelta(days=days - 1)) if days else ""
    return max(by_now, str(record.get("first_kept", "")))


async def _change_expiry(database: Database, before: int | None, seconds: int) -> None:
    """Change the index, unless it has this time already.

    A change waits for every open transaction, such as that of a killed drain. Everything that
    writes clicks then waits for the change.
    """
    if seconds == (before or 0):
        return
    if before is None:
        await database["clicks"].create_index("stored_at", name=_EXPIRY, expireAfterSeconds=seconds)
    elif not seconds:
        await _drop_expiry(database["clicks"])
    else:
        index = {"name": _EXPIRY, "expireAfterSeconds": seconds}
        await database.command("collMod", "clicks", index=index)


async def _drop_expiry(clicks: Collection) -> None:
    try:
        await clicks.drop_index(_EXPIRY)
    except OperationFailure as error:
        if error.code != _NO_SUCH_INDEX:
            raise
