"""The search for documents that a unique index would not allow, before it is built.

A build that fails names one pair, after minutes on a large collection and with other indexes built.
"""

from collections.abc import Sequence
from typing import Any, Final

import pymongo
from pymongo import IndexModel

from tracker.db.connect import UNLIMITED, Database, UnusableStore

_SHOWN: Final = 3
"""Pairs that are shown of one index."""


async def check_unique(database: Database, collection: str, indexes: Sequence[IndexModel]) -> None:
    """Check that the unique `indexes` that the collection does not have yet can be built.

    Raises UnusableStore, with the ids of documents that share a key, or PyMongoError if MongoDB
    fails.
    """
    unique = [index.document for index in indexes if index.document.get("unique")]
    if not unique:
        return
    built = await database[collection].index_information()
    for index in unique:
        if index["name"] in built:
            continue
        with pymongo.timeout(UNLIMITED):
            found = (
                await database[collection]
                .aggregate(_pipeline(index), allowDiskUse=True)
                .to_list(None)
            )
        if found:
            raise UnusableStore(_line(collection, index, found))


def _pipeline(index: Any) -> list[dict[str, Any]]:
    # A missing field has the key of null.
    key = {str(place): {"$ifNull": [f"${name}", None]} for place, name in enumerate(index["key"])}
    group = {"_id": key, "first": {"$min": "$_id"}, "last": {"$max": "$_id"}, "n": {"$sum": 1}}
    return [
        {"$match": index.get("partialFilterExpression", {})},
        {"$group": group},
        {"$match": {"n": {"$gt": 1}}},
        {"$limit": _SHOWN + 1},
    ]


def _line(collection: str, index: Any, found: Sequence[Any]) -> str:
    pairs = ", ".join(f"{one['first']} and {one['last']}" for one in found[:_SHOWN])
    more = ", and others" if len(found) > _SHOWN else ""
    return (
        f"MongoDB has documents in {collection} with the same {' and '.join(index['key'])}, which "
        f"the unique index {index['name']} does not allow: {pairs}{more}. Nothing was changed. "
        "Delete all but one of each, and start again"
    )
