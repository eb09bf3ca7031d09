"""The names of report rows for people, their order, and the search in them.

Links, tags and event configurations have their current names. Other values have English labels.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any, Final
from uuid import UUID

from tracker.clicks.document import OWN_PARAMETERS
from tracker.reports.answers.rows import PreviousRows, ReportRows
from tracker.reports.dimensions import DIMENSIONS, OWN_PREFIX, PARENT
from tracker.reports.query import FilterValue, GroupRow, ReportQuery
from tracker.reports.threads import in_thread, in_thread_if_large
from tracker.stores.mongodb.reads import MongoReads
from tracker.visitor_dimensions import UNKNOWN

_NAMES_AT_ONCE: Final = 1000
"""Names of one query: their ids block the event loop for 5 ms."""


class NamedRows:
    """Rows with their names, as arrays, which take less memory than objects."""

    def __init__(self, group_by: str, rows: ReportRows, stored_names: Mapping[str, str]) -> None:
        self.keys = rows.keys
        self._group_by = group_by
        self._rows = rows
        self._stored_names = stored_names

    def bytes(self) -> int:
        return self._rows.bytes()

    def piece(self, first: int, size: int) -> Sequence[GroupRow]:
        """Return `size` rows from number `first` on, fewer at the end."""
        page = self._rows.page(first, size)
        return [
            GroupRow(
                key=key, name=name_of(self._group_by, key, self._stored_names), measures=measures
            )
            for key, measures in zip(page.keys, page.measures(), strict=True)
        ]


async def named_rows(
    reader: MongoReads,
    query: ReportQuery,
    rows: ReportRows,
    first: int,
    size: int,
    previous: PreviousRows | None = None,
) -> NamedRows:
    """Return `size` rows from number `first` on, in the order of a query."""
    change = None
    if query.by_change and previous is not None:
        change = await in_thread_if_large(len(rows.keys), rows.change, query.sort, previous)
    stored: dict[str, str] = {}
    if query.sort == "name":
        stored = await stored_names(reader, query.group_by, rows.keys, query.within)
    ordered = await in_thread_if_large(
        len(rows.keys),
        rows.ordered,
        query.sort,
        query.descending,
        partial(name_of, query.group_by, stored=stored),
        first + size,
        change,
    )
    page = ordered.page(first, size)
    stored = await stored_names(reader, query.group_by, page.keys, query.within)
    return NamedRows(query.group_by, page, stored)


async def rows_with_text(reader: MongoReads, query: ReportQuery, rows: ReportRows) -> ReportRows:
    """Return the rows with the text of a search, in any case."""
    group_by, text = query.group_by, query.search or ""
    within = query.within
    found = await _records_with_text(reader, query.account_id, group_by, text, within)
    return await in_thread(rows.chosen, lambda key: key in found or _has_text(group_by, key, text))


async def stored_names(
    reader: MongoReads,
    group_by: str,
    keys: Collection[str],
    within: frozenset[UUID] | None = None,
) -> dict[str, str]:
    """Return the names of records, by key; none for values without records, and for parents that
    are not `within` the limit to tags.
    """
    limit = _limit_of_parents(group_by, within)
    dimension = DIMENSIONS[group_by]
    if dimension.record is None:
        return {}
    collection, field = dimension.record
    stored = [key for key in keys if key not in dimension.names]
    names = {}
    for first in range(0, len(stored), _NAMES_AT_ONCE):
        ids = [UUID(key) for key in stored[first : first + _NAMES_AT_ONCE]]
        for row in await reader.find(collection, {"_id": {"$in": ids}, **limit}, [field]):
            names[str(row["_id"])] = row[field]
    return names


async def filter_names(
    reader: MongoReads,
    account_id: UUID,
    filters: Mapping[str, Collection[FilterValue]],
    within: frozenset[UUID] | None = None,
) -> dict[str, dict[str, str]]:
    """Return the names of filters' values, by value.

    Records of other accounts, or outside the limit to tags, have their ids.
    """
    names = {}
    for dimension, values in filters.items():
        stored: dict[str, str] = {}
        known = OWN_PARAMETERS[0] if dimension.startswith(OWN_PREFIX) else dimension
        if record := DIMENSIONS[known].record:
            collection, field = record
            ids = [UUID(str(one)) for one in values if one not in DIMENSIONS[known].names]
            wanted = {"_id": {"$in": ids}, "account_id": account_id, **_limit(collection, within)}
            found = await reader.find(collection, wanted, [field])
            stored = {str(row["_id"]): row[field] for row in found}
        keys = map(str, values)
        names[dimension] = {key: name_of(known, key, stored) for key in keys}
    return names


def _limit_of_parents(group_by: str, within: frozenset[UUID] | None) -> dict[str, Any]:
    """Return the condition of parents: what led to links within a limit may be outside."""
    return _limit("links", within) if group_by == PARENT else {}


def _limit(collection: str, within: frozenset[UUID] | None) -> dict[str, Any]:
    """Return the condition of records whose names a limit allows. Choices have no tags."""
    if within is None or collection == "event_configs":
        return {}
    return {"_id" if collection == "tags" else "tags": {"$in": [*within]}}


def name_of(group_by: str, key: str, stored: Mapping[str, str]) -> str:
    """Return the name of a key. Removed records have their key."""
    return stored.get(key) or _name(group_by, key)


async def _records_with_text(
    reader: MongoReads,
    account_id: UUID,
    group_by: str,
    text: str,
    within: frozenset[UUID] | None = None,
) -> set[str]:
    """Return the keys of the account's records with `text` in their name, in any case."""
    dimension = DIMENSIONS[group_by]
    if dimension.record is None:
        return set()
    collection, field = dimension.record
    matching: dict[str, Any] = {
        "account_id": account_id,
        field: {"$regex": re.escape(text), "$options": "i"},
        **_limit_of_parents(group_by, within),
    }
    return {str(row["_id"]) async for row in reader.find_each(collection, matching, ["_id"])}


def _has_text(group_by: str, key: str, text: str) -> bool:
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
