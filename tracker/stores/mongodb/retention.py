"""The retention of clicks: MongoDB deletes them by an index.

Days that may have lost clicks stay recorded: whatever is set later, they are never counted again.
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


async def set_click_retention(database: Database, days: int) -> None:
    """Make MongoDB delete clicks `days` after they were stored; 0 means never.

    Counted from its own time, a late click could be deleted before its journal entry is
    acknowledged. The entry would count it again.
    """
    kept = {"$max": {"first_kept": await first_complete_day(database)}, "$set": {"days": days}}
    await database["counters"].update_one(_RECORD, kept, upsert=True)
    with pymongo.timeout(UNLIMITED):
        stored = (await database["clicks"].index_information()).get(_EXPIRY)
        await _change_expiry(database, stored and stored["expireAfterSeconds"], days * _DAY_SECONDS)


async def first_complete_day(database: Database) -> str:
    """Return the first day that cannot have lost a click; empty if none ever was deleted."""
    record: dict[str, Any] = await database["counters"].find_one(_RECORD) or {}
    days = record.get("days", 0)
    by_now = day_of(now() - timedelta(days=days - 1)) if days else ""
    return max(by_now, str(record.get("first_kept", "")))


async def _change_expiry(database: Database, before: int | None, seconds: int) -> None:
    """A change waits for every open transaction, and all writers of clicks wait for it."""
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
