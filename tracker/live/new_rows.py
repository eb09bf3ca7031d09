"""New clicks and conversions of watched accounts, from the arrivals of feeds.

Guarantee: consecutive reads that name an account return each of its clicks and conversions exactly
once. A conversion is returned when its account first has it, and not again when it changes.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import chain, islice
from typing import Any, Final, NamedTuple
from uuid import UUID

from tracker.clicks.document import NO_TEST
from tracker.conversions.document import Attribution
from tracker.feeds.arrivals import (
    ConversionEntry,
    FeedName,
    click_ids,
    new_conversions,
    positions_between,
)
from tracker.feeds.clicks import CLICKS, StoredClick
from tracker.feeds.conversions import CONVERSIONS, SHOWN, StoredConversion
from tracker.feeds.kind import FeedKind, Row
from tracker.feeds.page import Bookmark
from tracker.feeds.storing_order import bookmark_of_now
from tracker.reports.rollups.layout import DRAIN_NUMBER
from tracker.stores.mongodb.reads import MongoReads

MAX_ROWS: Final = 20
"""The last clicks to show for an account, and the same number of conversions."""

_MAX_GAP: Final = timedelta(minutes=1)
"""The longest time between two reads. After a longer one nothing is sent, because it may be too
much to read."""

_RANGES_PER_QUERY: Final = 500
_IDS_PER_QUERY: Final = 10_000

ClickIds = Mapping[UUID, Sequence[UUID]]
Conversions = Mapping[UUID, Sequence[ConversionEntry]]


class NewRows(NamedTuple):
    """The new clicks and conversions of an account: their numbers, and the last ones.

    `clicks` includes `bots`. Tests are shown, and not counted.
    """

    clicks: int
    bots: int
    click_rows: Sequence[StoredClick]
    conversions: int
    conversion_rows: Sequence[StoredConversion]


async def read_new(
    reader: MongoReads, start: Bookmark | None, accounts: Collection[UUID]
) -> tuple[Mapping[UUID, NewRows], Bookmark]:
    """Return the rows of these accounts stored since `start`, and where the next read starts.

    Without `start` there are none. If nothing was stored, it takes one query.
    """
    async with reader.at_one_snapshot() as snapshot:
        end = await bookmark_of_now(snapshot)
        if start is None or end.at - start.at > _MAX_GAP:
            return {}, end
        clicks, conversions = await _new_ids(snapshot, start, end, accounts)
        counts, bots = await _count_clicks(snapshot, clicks)
        ids = {one: [entry.event_id for entry in conversions[one]] for one in conversions}
        click_rows = await _last_rows(snapshot, CLICKS, clicks)
        conversion_rows = await _last_rows(snapshot, CONVERSIONS, ids, status={"$in": SHOWN})
    rows = {
        one: NewRows(
            counts[one],
            bots[one],
            click_rows.get(one, ()),
            sum(entry.status is not Attribution.TEST for entry in conversions.get(one, ())),
            conversion_rows.get(one, ()),
        )
        for one in accounts
        if one in clicks or one in conversions
    }
    return rows, end


async def _new_ids(
    snapshot: MongoReads, start: Bookmark, end: Bookmark, accounts: Collection[UUID]
) -> tuple[ClickIds, Conversions]:
    """Return the clicks and the new conversions of each account, in their order."""
    ranges, documents = _ranges(start, end, accounts), []
    while piece := list(islice(ranges, _RANGES_PER_QUERY)):
        documents += await snapshot.find("arrivals", {"$or": piece}, hint="_id_")
    documents.sort(key=lambda one: (one["at"], one["_id"][DRAIN_NUMBER], one["_id"]["position"]))
    clicks: defaultdict[UUID, list[UUID]] = defaultdict(list)
    conversions: defaultdict[UUID, list[ConversionEntry]] = defaultdict(list)
    for document in documents:
        account_id = document["_id"]["account_id"]
        if document["_id"]["feed"] == FeedName.CLICKS:
            clicks[account_id] += [UUID(bytes=one) for one in click_ids(document["entries"])]
        elif new := new_conversions(document):
            conversions[account_id] += new
    return clicks, conversions


def _ranges(
    start: Bookmark, end: Bookmark, accounts: Collection[UUID]
) -> Iterator[Mapping[str, Any]]:
    for drain, until in end.positions.items():
        first = start.positions.get(drain, 0)
        if first < until:
            for account_id in accounts:
                for feed in FeedName:
                    yield positions_between(account_id, feed, drain, first, until)


async def _count_clicks(
    snapshot: MongoReads, clicks: ClickIds
) -> tuple[Counter[UUID], Counter[UUID]]:
    """Return the numbers of clicks and of bots' clicks, without tests."""
    counts, bots = Counter[UUID](), Counter[UUID]()
    ids = chain.from_iterable(clicks.values())
    while piece := list(islice(ids, _IDS_PER_QUERY)):
        for row in await snapshot.aggregate("clicks", counts_pipeline(piece)):
            counts[row["_id"]] += row["clicks"]
            bots[row["_id"]] += row["bots"]
    return counts, bots


def counts_pipeline(ids: Sequence[UUID]) -> list[dict[str, Any]]:
    """Return the pipeline that counts clicks, and bots' clicks, by account."""
    is_bot = {"$cond": [{"$ne": ["$bot", None]}, 1, 0]}
    numbers = {"clicks": {"$sum": 1}, "bots": {"$sum": is_bot}}
    return [
        {"$match": {"_id": {"$in": ids}, **NO_TEST}},
        {"$group": {"_id": "$account_id", **numbers}},
    ]


async def _last_rows(
    snapshot: MongoReads, kind: FeedKind[Row], ids: Mapping[UUID, Sequence[UUID | int]], **also: Any
) -> dict[UUID, list[Row]]:
    """Return the last rows of each account that meet the conditions."""
    last = {account_id: found[-MAX_ROWS:] for account_id, found in ids.items()}
    wanted = list(chain.from_iterable(last.values()))
    if not wanted:
        return {}
    matching = {"_id": {"$in": wanted}, **also}
    documents = await snapshot.find(kind.collection, matching, kind.fields)
    rows = {document["_id"]: kind.row(document) for document in documents}
    return {one: [rows[each] for each in found if each in rows] for one, found in last.items()}
