"""Structs as MongoDB documents: the field `id` is the document's `_id`."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from pymongo.errors import BulkWriteError

from tracker.db.connect import Collection

DUPLICATE_KEY = 11000

Kind = TypeVar("Kind")


def document(record: msgspec.Struct) -> dict[str, Any]:
    fields = msgspec.structs.asdict(record)
    fields["_id"] = fields.pop("id")
    return fields


def record(kind: type[Kind], document: Mapping[str, Any]) -> Kind:
    """Fields that `kind` does not have are left out."""
    return msgspec.convert({**document, "id": document["_id"]}, kind)


async def insert_new(
    collection: Collection, documents: Sequence[dict[str, Any]]
) -> list[Mapping[str, Any]]:
    """Insert those that break no unique index; the server's account of each that did (redelivery).

    Raises PyMongoError for anything else.
    """
    if not documents:
        return []
    try:
        await collection.insert_many(list(documents), ordered=False)
    except BulkWriteError as error:
        details = error.details or {}
        refused: list[Mapping[str, Any]] = details.get("writeErrors", [])
        others = [one for one in refused if one["code"] != DUPLICATE_KEY]
        if others or details.get("writeConcernErrors"):
            raise
        return refused
    return []
