"""Counts by the tags of links, in place of the links: made from counts by link, and cached.

A value of the column TAGS is the ids of all tags of a link. So each click counts once, and links
are added up that have the same tags. Cached counts are valid for one fingerprint of the rollups and
one version of the tags (`links/tags`).
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from tracker.ids import id_text
from tracker.links.tags import version_of_tags
from tracker.reports import limits
from tracker.reports.columns import Columns
from tracker.reports.counted import TAGS
from tracker.reports.dimensions import DOCUMENT_KINDS, LINK, DocumentKind
from tracker.reports.joint_counts.counts import Counts
from tracker.reports.joint_counts.scope import Memory, ReportScope, Snapshot
from tracker.reports.joint_counts.sources import without
from tracker.reports.joint_counts.store import JointCounts, JointId, NewCounts
from tracker.reports.periods import Period, is_over
from tracker.reports.threads import in_thread_if_large
from tracker.stores.mongodb.documents import StoredId
from tracker.stores.mongodb.drivers import Database
from tracker.stores.mongodb.reads import MongoReads
from tracker.visitor_dimensions import UNKNOWN

_COLLECTION: Final = "tag_counts"

_LIFETIME: Final = timedelta(hours=1)
"""Web processes of 1.0.0 announce no change of tags: counts that miss one are gone soon."""

_BY_ID: Final = 20_000
"""Links whose tags are looked up by id, 5 µs each. For more, those of all links are read."""

_PARTS_AT_ONCE: Final = 100
"""Sets of tags, each with a thousandth of its links. With a million links of one set they take the
event loop 0.1 s."""


async def with_tags(
    reader: MongoReads, account_id: UUID, memory: Memory, tables: Sequence[Columns]
) -> list[Columns]:
    """Return tables by link with the column TAGS in the place of the links."""
    links = set[str]().union(*(table.dimensions[LINK].values for table in tables)) - {UNKNOWN}
    await memory.take(len(links) * limits.ROW_BYTES)
    tags = await _tags_of(reader, account_id, links)
    rows = sum(table.rows for table in tables)
    return await in_thread_if_large(rows, lambda: [_by_tags(table, tags) for table in tables])


class CountsByTags:
    """The counts of an account by tags in a snapshot."""

    def __init__(self, database: Database, scope: ReportScope, snapshot: Snapshot) -> None:
        self._scope = scope
        self._snapshot = snapshot
        self._counts = Counts(database, scope, snapshot)
        self._stored = JointCounts(database, _COLLECTION, _LIFETIME)

    async def tables(
        self, by: Sequence[str], periods: Sequence[Period]
    ) -> list[tuple[Period, Columns]]:
        """Return what `Counts.tables` returns, with TAGS in the place of the links."""
        reader, scope = self._snapshot.reader, self._scope
        await self._snapshot.fingerprints_of(scope).read(periods)
        version = await version_of_tags(reader, scope.account_id, self._snapshot.now)
        found: list[tuple[Period, Columns]] = []
        for of in DOCUMENT_KINDS:
            found += await self._of_kind(of, by, periods, version)
        return found

    async def _of_kind(
        self, of: DocumentKind, by: Sequence[str], periods: Sequence[Period], version: int | None
    ) -> list[tuple[Period, Columns]]:
        names = [TAGS, *without(LINK, by)]
        tables = await self._cached(of, names, periods, version)
        missing = [period for period in periods if period not in tables]
        counted = await self._counts.tables(by, missing, [of])
        made = await with_tags(
            self._snapshot.reader,
            self._scope.account_id,
            self._snapshot.memory,
            [table for _, table in counted],
        )
        new = dict(zip([period for period, _ in counted], made, strict=True))
        if version is not None:
            await self._store(of, names, new, version)
        return [*tables.items(), *new.items()]

    async def _cached(
        self, of: DocumentKind, names: Sequence[str], periods: Sequence[Period], version: int | None
    ) -> dict[Period, Columns]:
        """Return the valid tables of those periods that have some."""
        if version is None:
            return {}
        ids = {self._id(of, names, period): period for period in periods}
        cached = await self._stored.find(ids, names, self._snapshot.reader.latest())
        valid = {
            ids[one]: counts
            for one, counts in cached.items()
            if counts.fingerprint == self._fingerprint(of, ids[one], version)
        }
        rows = sum(counts.rows() for counts in valid.values())
        await self._snapshot.memory.take(rows * limits.ROW_BYTES)
        return await in_thread_if_large(
            rows, lambda: {period: counts.table() for period, counts in valid.items()}
        )

    async def _store(
        self,
        of: DocumentKind,
        names: Sequence[str],
        tables: Mapping[Period, Columns],
        version: int,
    ) -> None:
        new = {
            self._id(of, names, period): NewCounts(self._fingerprint(of, period, version), table)
            for period, table in tables.items()
            if is_over(period, self._snapshot.now)
        }
        if new:
            await self._stored.store_all(new)

    def _id(self, of: DocumentKind, names: Sequence[str], period: Period) -> JointId:
        account_id, calendar, _ = self._scope
        return JointId(account_id, calendar.zone, None, of, ",".join(names), period.key)

    def _fingerprint(self, of: DocumentKind, period: Period, version: int) -> list[int]:
        return [*self._snapshot.fingerprints_of(self._scope).of(period).of(of), version]


def _by_tags(table: Columns, tags: Mapping[str, str]) -> Columns:
    column = table.dimensions[LINK].mapped(lambda link: tags.get(link, ""))
    names = [TAGS, *without(LINK, list(table.dimensions))]
    return table.with_column(TAGS, column).by(names)


async def _tags_of(reader: MongoReads, account_id: UUID, links: Collection[str]) -> dict[str, str]:
    """Return the values of TAGS, without those of links without tags."""
    found = {UNKNOWN: UNKNOWN}
    if not links:
        return found
    matching: dict[str, Any] = {"account_id": StoredId(account_id.bytes), "tags": {"$ne": []}}
    if len(links) <= _BY_ID:
        matching["_id"] = {"$in": await in_thread_if_large(len(links), _ids, links)}
    # By set of tags: a row for each link takes three times as long. In parts, because a document
    # holds 16 MB, and the event loop waits while one is decoded.
    part = {"tags": "$tags", "part": {"$millisecond": "$created_at"}}
    stages: list[dict[str, Any]] = [
        {"$match": matching},
        {"$group": {"_id": part, "links": {"$push": "$_id"}}},
    ]
    binary = reader.with_binary_ids()
    rows = await binary.aggregate("links", stages, batchSize=_PARTS_AT_ONCE)
    return await in_thread_if_large(len(links), lambda: found | _by_link(rows, links))


def _by_link(rows: Sequence[Mapping[str, Any]], wanted: Collection[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for row in rows:
        tags = ",".join(map(id_text, row["_id"]["tags"]))
        links = map(id_text, row["links"])
        found |= dict.fromkeys([link for link in links if link in wanted], tags)
    return found


def _ids(texts: Collection[str]) -> list[StoredId]:
    return [StoredId(bytes.fromhex(one.replace("-", ""))) for one in texts]
