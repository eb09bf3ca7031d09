"""The rows of imports in MongoDB: what becomes, or became, of each link of a source."""

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from typing import Any, Final, Literal
from uuid import UUID

import msgspec

from tracker.clock import now
from tracker.ids import new_id
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import as_struct, run_updates
from tracker.stores.mongodb.order import OLDEST_FIRST
from tracker.stores.mongodb.paging import Pages, all_of
from tracker.stores.mongodb.transaction import MongoSession

Outcome = (
    Literal["create", "lossy", "same", "update", "changed", "conflict", "refused"]
    | Literal["removed", "left"]  # by an undo
)
Listed = Outcome | Literal["all", "differing"]
"""Which rows are listed. The cut-over check found that some are `differing`."""

ROWS_ASKED: Final = 200
"""Rows of one chunk of a cut-over check."""

MAX_ROW_CHARACTERS: Final = 2_048


class ImportRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row. `number` counts the items of the source from 0, `row` is its number there.

    `names` are what its link takes: no later row of the import may have one of them. `source` is
    the link there. `differ` of its paths do not answer as there, the first by this `difference`.
    """

    number: int
    row: int
    outcome: Outcome
    field: str = ""
    reason: str = ""
    domain: str = ""
    path: str = ""
    destination_url: str = ""
    internal_name: str = ""
    tags: str = ""
    source_link: str = ""
    text: str = ""
    link_id: UUID | None = None
    names: list[str] = []
    source: bytes = b""
    differ: int = 0
    difference: str = ""


class ImportRows:
    """The rows of all imports. MongoDB removes them after 90 days."""

    def __init__(self, mongodb: MongoDB) -> None:
        self._database = mongodb.database
        self._rows = mongodb["import_rows"]
        self._reads = mongodb.reads
        self._pages = Pages(mongodb.reads, "import_rows", ImportRow)

    async def put(
        self, import_id: UUID, rows: Sequence[ImportRow], session: MongoSession | None = None
    ) -> None:
        """Store rows, in place of those with the same numbers."""
        updates = [
            {
                "q": {"import_id": import_id, "number": one.number},
                "u": {"$set": _document(one), "$setOnInsert": {"_id": new_id()}},
                "upsert": True,
            }
            for one in rows
        ]
        await run_updates(self._database, "import_rows", updates, session)

    async def taken(self, import_id: UUID, names: Collection[str], before: int) -> dict[str, int]:
        """Return which names rows before a number take, and these rows at the source."""
        matching = {"import_id": import_id, "names": {"$in": list(names)}}
        found = self._rows.find({**matching, "number": {"$lt": before}}, ["names", "row"])
        return {name: row["row"] async for row in found for name in row["names"]}

    async def domain_names(self, import_id: UUID, limit: int) -> list[str]:
        of_import: dict[str, Any] = {"$match": {"import_id": import_id}}
        stages = [of_import, {"$group": {"_id": "$domain"}}, {"$limit": limit}]
        found = await self._reads.aggregate("import_rows", stages)
        return sorted(row["_id"] for row in found)

    async def of_links(self, import_id: UUID, after: int) -> list[ImportRow]:
        """Return the next rows after a number that have a link."""
        matching = {"import_id": import_id, "number": {"$gt": after}, "link_id": {"$ne": None}}
        rows = self._rows.find(matching).sort("number", 1).hint("by_number").limit(ROWS_ASKED)
        return [as_struct(ImportRow, row) async for row in rows]

    async def set_answers(self, import_id: UUID, answers: Mapping[int, Mapping[str, Any]]) -> None:
        updates = [
            {"q": {"import_id": import_id, "number": number}, "u": {"$set": fields}}
            for number, fields in answers.items()
        ]
        await run_updates(self._database, "import_rows", updates)

    async def page(
        self, import_id: UUID, listed: Listed, page: int, page_size: int
    ) -> tuple[list[ImportRow], int]:
        matching, hint = _of(import_id, listed)
        return await self._pages.find(matching, page, page_size, OLDEST_FIRST, hint)

    async def each(self, import_id: UUID, listed: Listed) -> AsyncGenerator[list[ImportRow], None]:
        matching, hint = _of(import_id, listed)
        async for rows in all_of(self._reads, "import_rows", matching, OLDEST_FIRST, hint):
            yield [as_struct(ImportRow, row) for row in rows]

    async def delete(self, import_id: UUID) -> None:
        await self._rows.delete_many({"import_id": import_id})


def _of(import_id: UUID, listed: Listed) -> tuple[dict[str, Any], str]:
    matching: dict[str, Any] = {"import_id": import_id}
    if listed == "all":
        return matching, "by_import"
    if listed == "differing":
        return {**matching, "differ": {"$gt": 0}}, "differing"
    return {**matching, "outcome": listed}, "by_outcome"


def _document(row: ImportRow) -> dict[str, Any]:
    """Return a row as stored, with its texts cut and in valid Unicode."""
    fields = msgspec.structs.asdict(row)
    for name, value in fields.items():
        if isinstance(value, str):
            fields[name] = value.encode(errors="replace").decode()[:MAX_ROW_CHARACTERS]
    return {**fields, "at": now()}
