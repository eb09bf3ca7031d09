"""Cached joint counts in MongoDB: the counts of a period by several dimensions.

A document is

    {_id: {account_id, zone, link_id, of: "clicks" | "events", by: "country,device",
           period: "2026-01-31", part},
     mark, through, version, parts, rows, columns: {...}, measures: {...}, expires_at}

with the table of `reports/joint_counts/columns_document`. `mark` is the fingerprint. All parts of a
table share a random `version`, because two processes may store it at once. `link_id` is
null for the account. A part of a finished hour has the period `2026-01-31T09 part`
(`reports/joint_counts/part_hour`). Counts of a whole period by all dimensions (`*`) do not expire:
counts by fewer follow from them, even when retention has deleted the clicks.
"""

import time
from collections import defaultdict
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

from pymongo import ReplaceOne

from tracker.clock import now
from tracker.ids import new_id
from tracker.reports import limits
from tracker.reports.columns import Columns
from tracker.reports.counted import EXTRA_DIMENSIONS, dimensions_in
from tracker.reports.dimensions import DOMAIN, HOUR, LINK, OF_EVENTS, DocumentKind
from tracker.reports.joint_counts.columns_document import documents_of, table_of
from tracker.reports.threads import in_thread
from tracker.stores.mongodb.drivers import Database
from tracker.stores.mongodb.reads import MongoReads

ALL: Final = "*"

LIFETIME: Final = timedelta(days=35)
"""The lifetime of counts by some dimensions. Counts by all replace them."""

_BATCH_SECONDS: Final = 1.0
"""How long counts wait for a batch. A time limit loses at most this much work."""

_LINK_CHARACTERS: Final = 36

_MAX_PARTS: Final = 2**31 - 1


_FINGERPRINT: Final = "mark"
"""The stored name: another one would count every day again after an upgrade."""

_FIELDS: Final = (_FINGERPRINT, "through", "version", "parts", "rows", "measures")


class JointId(NamedTuple):
    """The key of cached counts: an account or link, documents, dimensions and a period."""

    account_id: UUID
    zone: str
    link_id: UUID | None
    of: DocumentKind
    by: str
    period: str

    def is_day_by_all(self) -> bool:
        return self.by == ALL and len(self.period) == len("2026-01-31")

    def is_of_hour(self) -> bool:
        return "T" in self.period


class NewTable(NamedTuple):
    """A table to cache. `through`: an unfinished hour was counted up to here."""

    fingerprint: list[int]
    table: Columns
    through: datetime | None = None


class CachedTable(NamedTuple):
    """Cached counts, with the fields of NewTable, and their documents."""

    fingerprint: list[int]
    through: datetime | None
    names: Sequence[str]
    parts: Sequence[Mapping[str, Any]]

    def is_valid(self, fingerprint: list[int], end: datetime) -> bool:
        """Return whether they are the counts of a period with this fingerprint and end.

        Counts up to a later moment, by a clock that is ahead, may have the same sums by chance.
        """
        is_within = self.through is None or self.through <= end
        return is_within and self.fingerprint == fingerprint

    def rows(self) -> int:
        return sum(part["rows"] for part in self.parts)

    def table(self, wanted: Mapping[str, Container[str]] | None = None) -> Columns:
        """Return the table, or only its `wanted` rows. It takes milliseconds: use a thread."""
        known = {name: one for name, one in (wanted or {}).items() if name in self.names}
        return table_of(self.parts, self.names, known)


def name_of(dimensions: Collection[str], every: Collection[str], of_hour: bool = False) -> str:
    """Return the name of dimensions in any order.

    `every` one of the account is `*`. Clicks have none of OF_EVENTS, and an hour's counts need no
    hour.
    """
    missing = set(every) - {*OF_EVENTS, *dimensions} - ({HOUR} if of_hour else set())
    return ",".join(dimensions_in([[*dimensions]])) if missing else ALL


class JointCountStore:
    """The cached joint counts of all accounts."""

    def __init__(self, database: Database) -> None:
        self._cached = database["joint_counts"]

    async def find(
        self, ids: Collection[JointId], names: Sequence[str], reader: MongoReads
    ) -> dict[JointId, CachedTable]:
        """Return the cached counts among `ids`, valid or not, with these dimensions."""
        if not ids:
            return {}
        wanted = {"_id": {"$in": [_stored(one, 0) for one in ids]}}
        # Where an extra column is missing, the domain tells what it would have.
        read = {*names, DOMAIN} if {*names} & {*EXTRA_DIMENSIONS} else names
        fields = dict.fromkeys(_FIELDS, 1) | {f"columns.{name}": 1 for name in read}
        found: defaultdict[JointId, list[Mapping[str, Any]]] = defaultdict(list)
        for row in await reader.find(self._cached.name, wanted, fields):
            found[_id(row["_id"])].append(row)
        for one, parts in found.items():
            others = [_stored(one, number) for number in range(1, parts[0]["parts"])]
            if others:
                rest = await reader.find(self._cached.name, {"_id": {"$in": others}}, fields)
                parts += [row for row in rest if row["version"] == parts[0]["version"]]
        return {
            one: CachedTable(list(parts[0][_FINGERPRINT]), parts[0].get("through"), names, parts)
            for one, parts in found.items()
            if len(parts) == parts[0]["parts"]
        }

    async def ids(self, matching: Mapping[str, Any], reader: MongoReads) -> list[JointId]:
        rows = await reader.find(self._cached.name, {**matching, "_id.part": 0}, ["_id"])
        return [_id(row["_id"]) for row in rows]

    async def remove_hours(self, days: Collection[JointId]) -> None:
        ranges = [
            {
                "_id": {
                    "$gte": _stored(day._replace(period=f"{day.period}T"), 0),
                    "$lt": _stored(day._replace(period=f"{day.period}U"), 0),
                }
            }
            for day in days
        ]
        if ranges:
            await self._cached.delete_many({"$or": ranges})

    async def remove(self, ids: Collection[JointId], first: int = 0) -> None:
        """Remove the parts from number `first` on."""
        ranges = [
            {"_id": {"$gte": _stored(one, first), "$lt": _stored(one, _MAX_PARTS)}} for one in ids
        ]
        if ranges:
            await self._cached.delete_many({"$or": ranges})

    async def fingerprints(
        self, ids: Collection[JointId], reader: MongoReads
    ) -> dict[JointId, list[int]]:
        wanted = {"_id": {"$in": [_stored(one, 0) for one in ids]}}
        rows = await reader.find(self._cached.name, wanted, [_FINGERPRINT])
        return {_id(row["_id"]): list(row[_FINGERPRINT]) for row in rows}

    async def size(self, ids: Collection[JointId], names: Sequence[str], reader: MongoReads) -> int:
        """Return the bytes that these cached counts take at most while a report is made.

        It is computed like `bytes_of` in `reports/memory`.
        """
        fields: dict[str, Any] = {"rows": 1, "parts": 1}
        if list(names) == [LINK]:
            # An id in each row. MongoDB takes longer for their lengths than for the table itself.
            fields["text"] = {"$multiply": [_LINK_CHARACTERS, "$rows"]}
        else:
            texts = [_text_bytes(f"$columns.{name}.values") for name in names]
            fields["text"] = {"$sum": texts}
        heads = [_stored(one, 0) for one in ids]
        found = await reader.find(self._cached.name, {"_id": {"$in": heads}}, fields)
        others = [{**row["_id"], "part": part} for row in found for part in range(1, row["parts"])]
        if others:
            found += await reader.find(self._cached.name, {"_id": {"$in": others}}, fields)
        return sum(
            limits.ROW_BYTES * row["rows"] + limits.TEXT_COPIES * row["text"] for row in found
        )

    async def store(self, new: Mapping[JointId, NewTable]) -> None:
        """Replace many counts: all that have one part in one write."""
        # In a thread, because a large table takes some tenths of a second.
        parts = await in_thread(
            lambda: {
                one: list(_parts(one, counts, now() + LIFETIME)) for one, counts in new.items()
            }
        )
        small = {one: stored for one, stored in parts.items() if len(stored) == 1}
        if small:
            await self._write(small)
        for one in parts.keys() - small.keys():
            await self._write({one: parts[one]})

    async def _write(self, parts: Mapping[JointId, Sequence[Mapping[str, Any]]]) -> None:
        # The first part is written last: it says how many there are.
        writes = [
            ReplaceOne({"_id": part["_id"]}, part, upsert=True)
            for stored in parts.values()
            for part in reversed(stored)
        ]
        done = await self._cached.bulk_write(writes)
        if done.matched_count:
            # In one write, all counts have as many parts.
            await self.remove(parts.keys(), len(next(iter(parts.values()))))


class CacheBatch:
    """A batch of counts to cache, written about once a second: each write waits for the disk."""

    def __init__(self, joint: JointCountStore) -> None:
        self._joint = joint
        self._new: dict[JointId, NewTable] = {}
        self.rows = 0
        self._since = time.monotonic()

    async def add(self, one: JointId, new: NewTable) -> None:
        self._new[one] = new
        self.rows += new.table.rows
        if self.rows > limits.ROWS_AT_ONCE or time.monotonic() - self._since > _BATCH_SECONDS:
            await self.aclose()

    async def aclose(self) -> None:
        """Write the rest of the batch."""
        new, self._new, self.rows = self._new, {}, 0
        if new:
            await self._joint.store(new)
            # A day's counts by all dimensions replace its hours.
            await self._joint.remove_hours([one for one in new if one.is_day_by_all()])
        self._since = time.monotonic()


def _text_bytes(values: str) -> dict[str, Any]:
    """Return the expression for the bytes of a text in memory."""
    text = {"$ifNull": [values, ""]}
    size, characters = {"$strLenBytes": text}, {"$strLenCP": text}
    wide = {"$multiply": [limits.WIDE_BYTES, characters]}
    return {"$cond": [{"$eq": [size, characters]}, size, wide]}


def _parts(one: JointId, counts: NewTable, expires_at: datetime) -> Iterator[dict[str, Any]]:
    version = new_id()
    parts = list(documents_of(counts.table))
    for number, part in enumerate(parts):
        fields = {**part, _FINGERPRINT: counts.fingerprint, "version": version, "parts": len(parts)}
        if counts.through is not None:
            fields["through"] = counts.through
        if one.by != ALL or counts.through is not None:
            fields["expires_at"] = expires_at
        yield {"_id": _stored(one, number), **fields}


def _stored(one: JointId, part: int) -> dict[str, Any]:
    return {**one._asdict(), "part": part}


def _id(stored: Mapping[str, Any]) -> JointId:
    return JointId(**{name: stored[name] for name in JointId._fields})
