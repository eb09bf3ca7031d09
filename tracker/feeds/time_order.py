"""Pages of a feed by time, newest first.

A page ends at a position, and the next one begins there. A position names a row by its time and id,
which never change. So no row is on two pages, and none that existed is left out, while new ones
arrive, also late ones.

Guarantee: the cost of a page does not grow with the number of rows of the account. An index gives
the order of times; rows that other conditions leave out are counted, and MAX_EXAMINED end the page.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from tracker.db.connect import Collection
from tracker.db.transaction import Session
from tracker.feeds.filter import Conditions
from tracker.feeds.page import Position

MAX_EXAMINED: Final = 50_000
"""Rows that one page looks at. If none of them passes, MongoDB takes 0.05 s to find the last of
them and 0.07 s to read them all (measured in an account with 600,000 conversions)."""


_FEW_FOR_EACH_ROW: Final = 20
"""Rows that are examined first for each row of a page. To count off MAX_EXAMINED takes 0.03 s, even
if the first rows pass."""


class Range(NamedTuple):
    """The part of a collection that a page is of.

    `bounds` are the conditions that the index named so decides, `others` those that each row
    is examined for. `lowest_id` is no row's, and below all.
    """

    index_name: str
    bounds: Conditions
    others: Conditions
    lowest_id: UUID | int


class TimePage(NamedTuple):
    """The rows of a page, where the next one begins, and how far an unfinished one has looked."""

    rows: list[dict[str, Any]]
    next: Position | None
    searched_to: datetime | None


async def page_by_time(
    collection: Collection,
    within: Range,
    after: Position | None,
    size: int,
    fields: Sequence[str],
    max_examined: int,
    session: Session | None,
) -> TimePage:
    """Return the next `size` rows after a position, or the newest, with these fields.

    Raises PyMongoError if MongoDB does not answer.
    """
    if after is not None:
        newer = {"at": after.at, "_id": {"$gte": after.id}}
        within = within._replace(
            bounds=[*within.bounds, {"at": {"$lte": after.at}, "$nor": [newer]}]
        )
    rows, end = await _newest_examined(collection, within, size, fields, max_examined, session)
    if len(rows) > size:
        last = rows[size - 1]
        return TimePage(rows[:size], Position(last["at"], last["_id"]), None)
    following = None if end is None else Position(end, within.lowest_id)
    return TimePage(rows, following, end)


async def _newest_examined(
    collection: Collection,
    within: Range,
    size: int,
    fields: Sequence[str],
    max_examined: int,
    session: Session | None,
) -> tuple[list[dict[str, Any]], datetime | None]:
    """Return the newest rows as `_newest` does, and the time where the examined ones end, if any.

    If a page is full after few rows, no more are counted off.
    """
    if not within.others:
        return await _newest(collection, within, size, fields, session), None
    for limit in sorted({min(_FEW_FOR_EACH_ROW * size, max_examined), max_examined}):
        end = await _end(collection, within, limit, session)
        bounds = [*within.bounds, *([{"at": {"$gte": end}}] if end is not None else [])]
        rows = await _newest(collection, within._replace(bounds=bounds), size, fields, session)
        if len(rows) > size or end is None:
            break
    return rows, end


async def _end(
    collection: Collection, within: Range, max_examined: int, session: Session | None
) -> datetime | None:
    """Return the time of the last row that may be examined; None if there are fewer.

    The page examines all rows of that millisecond.
    """
    found = collection.find({"$and": within.bounds}, {"_id": 0, "at": 1}, session=session)
    last = found.sort("at", -1).hint(within.index_name).skip(max_examined - 1).limit(1)
    for row in await last.to_list(None):
        at: datetime = row["at"]
        return at
    return None


async def _newest(
    collection: Collection,
    within: Range,
    size: int,
    fields: Sequence[str],
    session: Session | None,
) -> list[dict[str, Any]]:
    """Return the newest rows, sorted: one more than `size`, or all if there are not so many.

    The index need not have the order within a millisecond. If the page ends within one, all of its
    rows are sorted by a second query.
    """

    def found(conditions: Conditions) -> Any:
        matching = {"$and": [*within.bounds, *within.others, *conditions]}
        return collection.find(matching, list(fields), session=session).hint(within.index_name)

    rows: list[dict[str, Any]] = await found([]).sort("at", -1).limit(size + 1).to_list(None)
    if len(rows) > size and rows[size]["at"] == rows[size - 1]["at"]:
        tied = rows[size]["at"]
        of_tied = await found([{"at": tied}]).sort("_id", -1).limit(size + 1).to_list(None)
        rows = [row for row in rows if row["at"] > tied] + of_tied
    return sorted(rows, key=lambda row: (row["at"], row["_id"]), reverse=True)
