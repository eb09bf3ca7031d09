"""The tags of links, in place of the links in tables of counts.

A value of the column TAGS is the ids of all tags of a link. So each click counts once, and links
are added up that have the same tags. The tags of all tagged links of an account are cached as one
table, for one version of the tags (`links/tags`). A link that it lacks has no tags, or is newer.
"""

from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import repeat
from typing import Any, Final
from uuid import UUID

from tracker.links.tags import CHANGE_TIME, version_of_tags
from tracker.reports import limits
from tracker.reports.arrays import np
from tracker.reports.columns import Column, Columns
from tracker.reports.counted import TAGS
from tracker.reports.dimensions import LINK
from tracker.reports.joint_counts.scope import Snapshot
from tracker.reports.joint_counts.store import CachedCounts, JointCounts, JointId, NewCounts
from tracker.reports.raw_ids import id_arrays, id_texts
from tracker.reports.threads import in_thread, in_thread_if_large
from tracker.stores.mongodb.documents import StoredId
from tracker.stores.mongodb.drivers import Database
from tracker.visitor_dimensions import UNKNOWN

COLLECTION: Final = "tag_counts"

LIFETIME: Final = timedelta(hours=1)
"""Web processes of 1.0.0 announce no change of tags: counts that miss one are gone soon."""

FEW: Final = 2_000
"""Links whose tags are always looked up by id, 8 µs each."""

_BY_ID: Final = 20_000
"""Links whose tags are looked up by id if no tags are cached."""

_CACHED_PER_LINK: Final = 20
"""Cached links that are read in the time of looking up the tags of one."""

_LINKS_AT_ONCE: Final = 50_000
"""Links of one page: a set of tags may have them all, and a document of MongoDB holds 16 MB."""

_MAX_CACHED: Final = 400_000
"""Links of an account whose tags are cached: 100 MB while a report reads them."""

_NAMES: Final = (LINK, TAGS)

_Sets = list[tuple[str, list[str]]]
"""Values of TAGS, with the links that have them."""


class _TagSets:
    """The values of TAGS, and the number of the value of each link."""

    def __init__(self) -> None:
        self._numbers = {"": 0, UNKNOWN: 1}
        self._of_link = {UNKNOWN: 1}

    def add(self, sets: _Sets) -> None:
        for tags, links in sets:
            self._of_link.update(zip(links, repeat(self._number(tags)), strict=False))

    def add_table(self, table: Columns) -> None:
        links, tags = table.dimensions[LINK], table.dimensions[TAGS]
        numbers = np.array(list(map(self._number, tags.values)), np.int64)[tags.codes]
        in_order = map(links.values.__getitem__, links.codes.tolist())
        self._of_link.update(zip(in_order, numbers.tolist(), strict=True))

    def _number(self, tags: str) -> int:
        return self._numbers.setdefault(tags, len(self._numbers))

    def table(self) -> Columns:
        """Return the table of `add_table`, with the known links."""
        links = [one for one in self._of_link if one != UNKNOWN]
        numbers = np.array([self._of_link[one] for one in links], np.int64)
        found = {
            LINK: Column(links, np.arange(len(links))),
            TAGS: Column(list(self._numbers), numbers),
        }
        return Columns(found, {}, len(links))

    def without(self, links: Iterable[str]) -> list[str]:
        """Return those of the links whose tags are not known."""
        return [one for one in links if one not in self._of_link]

    def by_tags(self, table: Columns) -> Columns:
        """Return the table with TAGS in the place of the links."""
        column = table.dimensions[LINK]
        known = map(self._of_link.get, column.values, repeat(0))
        numbers = np.fromiter(known, np.int64, count=len(column.values))
        names = [TAGS, *(name for name in table.dimensions if name != LINK)]
        tags = Column(list(self._numbers), numbers[column.codes])
        return table.with_column(TAGS, tags).by(names)


class TagsOfLinks:
    """The tags of an account's links in a snapshot."""

    def __init__(self, database: Database, account_id: UUID, snapshot: Snapshot) -> None:
        self._account_id = account_id
        self._snapshot = snapshot
        self._stored = JointCounts(database, COLLECTION, LIFETIME)
        self._id = JointId(account_id, "", None, "clicks", ",".join(_NAMES), "links")

    async def version(self) -> int | None:
        return await version_of_tags(self._snapshot.reader, self._account_id, self._snapshot.now)

    async def by_tags(self, tables: Sequence[Columns]) -> list[Columns]:
        """Return tables by link with the column TAGS in the place of the links."""
        links = set[str]().union(*(table.dimensions[LINK].values for table in tables)) - {UNKNOWN}
        await self._snapshot.memory.take(len(links) * limits.ROW_BYTES)
        sets = await self._sets_of(links)
        rows = sum(table.rows for table in tables)
        return await in_thread_if_large(rows, lambda: [sets.by_tags(table) for table in tables])

    async def _sets_of(self, links: Collection[str]) -> _TagSets:
        found = _TagSets()
        version = await self.version() if len(links) > FEW else None
        cached = await self._cached(version, _CACHED_PER_LINK * len(links))
        if cached is not None:
            await self._snapshot.memory.take(cached.rows() * limits.ROW_BYTES)
            await in_thread(lambda: found.add_table(cached.table()))
            newest = _text_of_time((cached.through or self._snapshot.now) - CHANGE_TIME)
            links = await in_thread(found.without, (one for one in links if one > newest))
        if len(links) <= _BY_ID:
            await self._look_up(found, links)
        else:
            await self._read_all(found, links, version)
        return found

    async def _cached(self, version: int | None, most: int) -> CachedCounts | None:
        """Return the cached tags of all tagged links, if they are at most so many."""
        if version is None:
            return None
        reader = self._snapshot.reader.latest()
        # First without the links, to see how many there are.
        for names in ((), _NAMES):
            cached = (await self._stored.find([self._id], names, reader)).get(self._id)
            if cached is None or cached.fingerprint != [version] or cached.rows() > most:
                return None
        return cached

    async def _look_up(self, found: _TagSets, links: Collection[str]) -> None:
        if links:
            ids = await in_thread_if_large(len(links), _ids, links)
            sets, _ = await self._read([{"$match": {**self._tagged(), "_id": {"$in": ids}}}])
            found.add(sets)

    async def _read_all(self, found: _TagSets, links: Collection[str], version: int | None) -> None:
        """Read the tags of all tagged links; cache them if they are not too many."""
        wanted, every, count = frozenset(links), _TagSets(), 0
        async for sets in self._pages():
            count += sum(len(of_set) for _, of_set in sets)
            if count <= _MAX_CACHED:
                every.add(sets)
            found.add([(tags, [one for one in of if one in wanted]) for tags, of in sets])
        if version is not None and count <= _MAX_CACHED:
            table = await in_thread(every.table)
            await self._stored.store(self._id, NewCounts([version], table, self._snapshot.now))

    async def _pages(self) -> AsyncIterator[_Sets]:
        last = bytes(16)
        while True:
            after = {"archived": {"$in": [False, True]}, "_id": {"$gt": StoredId(last)}}
            stages: list[Mapping[str, Any]] = [
                {"$match": {**self._tagged(), **after}},
                {"$sort": {"_id": 1}},
                {"$limit": _LINKS_AT_ONCE},
            ]
            sets, last = await self._read(stages, hint="by_account")
            yield sets
            if sum(len(links) for _, links in sets) < _LINKS_AT_ONCE:
                return

    def _tagged(self) -> dict[str, Any]:
        return {"account_id": StoredId(self._account_id.bytes), "tags": {"$ne": []}}

    async def _read(
        self, stages: Sequence[Mapping[str, Any]], **options: Any
    ) -> tuple[_Sets, bytes]:
        """Return the sets of tags of some links, and the last of their ids."""
        # By set of tags: a row for each link takes four times as long.
        group = {"$group": {"_id": "$tags", "links": {"$push": "$_id"}}}
        rows = await self._snapshot.reader.aggregate_raw("links", [*stages, group], **options)
        return await in_thread(_decoded, rows)


def _decoded(rows: Sequence[bytes]) -> tuple[_Sets, bytes]:
    found, last = [], b""
    for row in rows:
        ids = id_arrays(row)
        found.append((",".join(sorted(id_texts(ids["_id"]))), id_texts(ids["links"])))
        last = max(last, ids["links"][-1].tobytes())
    return found, last


def _ids(texts: Collection[str]) -> list[StoredId]:
    return [StoredId(bytes.fromhex(one.replace("-", ""))) for one in texts]


def _text_of_time(at: datetime) -> str:
    """Return the least text of an id of that time."""
    digits = f"{max(int(at.timestamp() * 1000), 0):012x}"
    return f"{digits[:8]}-{digits[8:]}"
