"""The names of report rows for people, and the search in them.

Links, tags and event configurations have their current names. Other values have English labels.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any, Final
from uuid import UUID

from tracker.reports.dimensions import DIMENSIONS, NO_KEY
from tracker.reports.query import FilterValue
from tracker.stores.mongodb.reads import MongoReads
from tracker.visitor_dimensions import UNKNOWN

_NAMES_AT_ONCE: Final = 1000
"""Names of one query: their ids block the event loop for 5 ms."""


async def stored_names(reader: MongoReads, group_by: str, keys: Collection[str]) -> dict[str, str]:
    """Return the names of records, by key; none for values without records."""
    dimension = DIMENSIONS[group_by]
    if dimension.record is None:
        return {}
    collection, field = dimension.record
    stored = [key for key in keys if key not in dimension.names]
    names = {}
    for first in range(0, len(stored), _NAMES_AT_ONCE):
        ids = [UUID(key) for key in stored[first : first + _NAMES_AT_ONCE]]
        for row in await reader.find(collection, {"_id": {"$in": ids}}, [field]):
            names[str(row["_id"])] = row[field]
    return names


async def filter_names(
    reader: MongoReads, account_id: UUID, filters: Mapping[str, Collection[FilterValue]]
) -> dict[str, dict[str, str]]:
    """Return the names of filters' values, by value. Records of other accounts have their ids."""
    names = {}
    for dimension, values in filters.items():
        stored: dict[str, str] = {}
        if record := DIMENSIONS[dimension].record:
            collection, field = record
            ids = [UUID(str(value)) for value in values if value != NO_KEY.get(dimension)]
            wanted = {"_id": {"$in": ids}, "account_id": account_id}
            found = await reader.find(collection, wanted, [field])
            stored = {str(row["_id"]): row[field] for row in found}
        keys = map(str, values)
        names[dimension] = {key: name_of(dimension, key, stored) for key in keys}
    return names


def name_of(group_by: str, key: str, stored: Mapping[str, str]) -> str:
    """Return the name of a key. Removed records have their key."""
    return stored.get(key) or _name(group_by, key)


async def records_with_text(
    reader: MongoReads, account_id: UUID, group_by: str, text: str
) -> set[str]:
    """Return the keys of the account's records with `text` in their name, in any case."""
    dimension = DIMENSIONS[group_by]
    if dimension.record is None:
        return set()
    collection, field = dimension.record
    matching: dict[str, Any] = {
        "account_id": account_id,
        field: {"$regex": re.escape(text), "$options": "i"},
    }
    return {str(row["_id"]) async for row in reader.find_each(collection, matching, ["_id"])}


def has_text(group_by: str, key: str, text: str) -> bool:
    """Return whether a key, or the name of a value without a record, has `text`, in any case."""
    dimension = DIMENSIONS[group_by]
    name = _name(group_by, key) if dimension.record is None else dimension.names.get(key, "")
    return any(text.casefold() in one.casefold() for one in (name, key))


def _name(group_by: str, key: str) -> str:
    dimension = DIMENSIONS[group_by]
    own = dimension.names.get(key)
    if own is not None:
        return own
    return "Unknown" if key == UNKNOWN else dimension.label(key)
