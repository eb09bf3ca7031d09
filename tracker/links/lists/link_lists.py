"""Pages of an account's links, and all of them for exports.

Every query names its index. A list by state and at most one tag has a kept count, and its index has
its order: a first page, or one after a cursor, costs as much in a large account as in a small one.
Other filters are counted within limits, and a read that MongoDB's time limit ends is 503.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Final, NamedTuple
from uuid import UUID

import msgspec
import pymongo
from pymongo.errors import PyMongoError

from tracker.links.counts.counts import LINK_COUNTS, count_stages, kept_counts
from tracker.links.link import Link
from tracker.links.lists.filter import (
    LinkFilter,
    LinkOrder,
    ListPlan,
    has_words,
    is_counted,
    is_of_one_word,
    plan_of,
    word_conditions,
)
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import with_stored_ids
from tracker.stores.mongodb.link_lists import LINK_LISTS
from tracker.stores.mongodb.order import NEWEST_FIRST, Position
from tracker.stores.mongodb.paging import all_of

COUNT_SECONDS: Final = 1.0

COUNTED_LINKS: Final = 10_000
"""Links that are counted, in 10 to 40 ms, and that may be read and sorted for a page."""

_IDS_AT_ONCE: Final = 5_000
"""Ids of one query: 10 ms to decode."""

_KNOWN: Final = ("id", "account_id")
_FIELDS: Final = [name for name in Link.__struct_fields__ if name not in _KNOWN]
"""A link's fields, without the account of the list and the fields that only find links."""


class Total(NamedTuple):
    """The number of links in a list; a lower bound unless it `is_exact`."""

    rows: int
    is_exact: bool = True


class LinkPage(NamedTuple):
    """A page of links. `next` is the position of its last link, None on the last page."""

    links: list[Link]
    total: Total
    next: Position | None


class LinkLists:
    """The lists of links in MongoDB."""

    def __init__(self, mongodb: MongoDB) -> None:
        self._reads = mongodb.reads

    async def page(
        self,
        account_id: UUID,
        wanted: LinkFilter,
        page: int,
        page_size: int,
        order: LinkOrder = "newest",
        after: Position | None = None,
    ) -> LinkPage:
        """Return the 1-based `page`; with `after`, read it from this position."""
        rows_before = (page - 1) * page_size
        skip, limit = 0 if after else rows_before, page_size + 1
        if is_counted(wanted):
            plan = plan_of(account_id, wanted, order)
            stages = _stages(plan, skip, limit, after)
            rows, total = await self._rows_and_total(plan, wanted, stages, limit)
        else:
            plan, total = await self._plan_and_total(account_id, wanted, order)
            rows = await self._read(plan, _stages(plan, skip, limit, after), limit)
        found = _links(account_id, rows)
        links = found[:page_size]
        is_last = len(found) <= page_size
        if not total.is_exact:
            # A page past the end does not tell where that is, nor does one after a position.
            is_end = is_last and after is None and (bool(found) or rows_before == 0)
            listed = rows_before + len(found)
            total = Total(listed) if is_end else Total(max(total.rows, listed), is_exact=False)
        following = None if is_last else plan.order.position(links[-1].id, links[-1])
        return LinkPage(links, total, following)

    async def all_of(
        self, account_id: UUID, wanted: LinkFilter, order: LinkOrder = "newest"
    ) -> AsyncGenerator[list[Link], None]:
        """Yield the account's links that pass the filter, in batches."""
        plan = await self._plan(account_id, wanted, order)
        async for rows in all_of(self._reads, "links", *plan, _FIELDS):
            yield _links(account_id, rows)

    async def ids(self, account_id: UUID, wanted: LinkFilter, at_most: int) -> list[bytes]:
        """Return the ids of the account's links that pass the filter, the newest first."""
        matching, order, hint = await self._plan(account_id, wanted, "newest")
        found: list[bytes] = []
        while len(found) < at_most:
            after = [order.after(Position(None, UUID(bytes=found[-1])))] if found else []
            stages = [
                {"$match": with_stored_ids({"$and": [matching, *after]})},
                {"$sort": dict(order.keys)},
                {"$limit": min(_IDS_AT_ONCE, at_most - len(found))},
                {"$group": {"_id": None, "ids": {"$push": "$_id"}}},
            ]
            rows = await self._reads.with_binary_ids().aggregate("links", stages, 1, hint=hint)
            ids = rows[0]["ids"] if rows else []
            found += ids
            if len(ids) < _IDS_AT_ONCE:
                break
        return found

    async def _plan(self, account_id: UUID, wanted: LinkFilter, order: LinkOrder) -> ListPlan:
        if has_words(wanted):
            plan, _ = await self._plan_and_total(account_id, wanted, order)
            return plan
        return plan_of(account_id, wanted, order)

    async def _rows_and_total(
        self, plan: ListPlan, wanted: LinkFilter, stages: list[dict[str, Any]], limit: int
    ) -> tuple[list[dict[str, Any]], Total]:
        """Return rows and the kept count, by one query: two cost a quarter more."""
        account_id, tags = plan.matching["account_id"], wanted.tags
        counts = {"coll": LINK_COUNTS, "pipeline": count_stages(account_id, tags)}
        found = await self._read(plan, [*stages, {"$unionWith": counts}], limit + 1 + len(tags))
        rows = [row for row in found if "slug" in row]
        kept = kept_counts(found[len(rows) :], tags)
        if kept is None:  # until a drain has completed an earlier release's counts
            return rows, await self._count(plan)
        return rows, Total(kept[tags[0] if tags else None].of(wanted.archived, wanted.active))

    async def _read(
        self, plan: ListPlan, stages: Sequence[Mapping[str, Any]], at_most: int
    ) -> list[dict[str, Any]]:
        return await self._reads.with_binary_ids().aggregate(
            "links", stages, at_most, hint=plan.hint, collation=plan.order.collation
        )

    async def _plan_and_total(
        self, account_id: UUID, wanted: LinkFilter, order: LinkOrder
    ) -> tuple[ListPlan, Total]:
        """Return the plan of a list without a kept count, and its total within limits.

        The rarest word leads to the links, unless more than COUNTED_LINKS have it.
        """
        leading = None
        if has_words(wanted) and wanted.slug is None:
            of_state = {"account_id": account_id, "archived": wanted.archived}
            words = word_conditions(wanted, NEWEST_FIRST)
            plans = [ListPlan(of_state | one, NEWEST_FIRST, LINK_LISTS["words"]) for one in words]
            sizes = await asyncio.gather(*map(self._count, plans))
            rarest = min(sizes, key=lambda one: (not one.is_exact, one.rows))
            if rarest.is_exact:
                leading = sizes.index(rarest)
            if is_of_one_word(wanted):
                return plan_of(account_id, wanted, order, leading), rarest
        total = await self._count(plan_of(account_id, wanted, "newest", leading))
        return plan_of(account_id, wanted, order, leading), total

    async def _count(self, plan: ListPlan) -> Total:
        """Count the links of a list, up to COUNTED_LINKS and for COUNT_SECONDS."""
        matching, by, hint = plan
        try:
            with pymongo.timeout(COUNT_SECONDS):
                counted = await self._reads.count(
                    "links", matching, limit=COUNTED_LINKS + 1, hint=hint, collation=by.collation
                )
        except PyMongoError as error:
            if not error.timeout:
                raise
            return Total(0, is_exact=False)
        return Total(min(counted, COUNTED_LINKS), counted <= COUNTED_LINKS)


def _stages(plan: ListPlan, skip: int, limit: int, after: Position | None) -> list[dict[str, Any]]:
    matching, by, _ = plan
    if after is not None:
        matching = {"$and": [matching, by.after(after)]}
    return [
        {"$match": with_stored_ids(matching)},
        {"$sort": dict(by.keys)},
        {"$skip": skip},
        {"$limit": limit},
        {"$project": dict.fromkeys(_FIELDS, 1)},
    ]


def _links(account_id: UUID, rows: list[dict[str, Any]]) -> list[Link]:
    """Return the links of rows. It adds fields to the rows: copies would double the time."""
    for row in rows:
        row["id"] = row["_id"]
        row["account_id"] = account_id
    return msgspec.convert(rows, list[Link])
