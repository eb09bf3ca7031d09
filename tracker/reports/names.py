"""The names of report rows that people read.

Links, tags and event configurations have their current names, values of visitors an English label.
"""

from collections.abc import Collection
from typing import Final
from uuid import UUID

from motor.motor_asyncio import AsyncIOMotorClientSession

from tracker.clicks.country import UNKNOWN
from tracker.clicks.dimensions import LABELS
from tracker.db.connect import Database
from tracker.reports.dimensions import NO_KEY

_STORED_NAMES: Final = {
    "link": ("links", "internal_name"),
    "tag": ("tags", "name"),
    "event": ("event_configs", "name"),
}
_NAMES_WITHOUT_ID: Final = {"link": "No click", "event": "No event configuration"}


async def names_of(
    database: Database,
    group_by: str,
    keys: Collection[str],
    session: AsyncIOMotorClientSession,
) -> dict[str, str]:
    """Return the name of each key. Raises PyMongoError if MongoDB does not answer."""
    if group_by not in _STORED_NAMES:
        return {key: _name(group_by, key) for key in keys}
    collection, field = _STORED_NAMES[group_by]
    without = NO_KEY.get(group_by)
    ids = [UUID(key) for key in keys if key != without]
    found = database[collection].find({"_id": {"$in": ids}}, [field], session=session)
    named = {str(row["_id"]): row[field] async for row in found}
    # A key whose record is gone is its own name.
    return {
        key: _NAMES_WITHOUT_ID[group_by] if key == without else named.get(key, key) for key in keys
    }


def _name(group_by: str, key: str) -> str:
    if key == UNKNOWN:
        return "Unknown"
    return LABELS.get(group_by, str)(key)
