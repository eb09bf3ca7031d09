"""The shard keys of the large collections, and the commands that shard them. Pure.

- clicks and deliveries are found by their ids, which are random in a hash and ordered by time
  without one: a range of ids would be written on one shard only.
- rollups are read by account, kind, day and link, and written by whole ids, which contain these.
- Everything else stays on the database's primary shard: it is small, or its unique indexes decide
  races (links, events by transaction id), and a sharded collection has only unique indexes that
  begin with its key.
"""

from collections.abc import Mapping
from typing import Any, Final

ROLLUP_KEY: Final = ("_id.account_id", "_id.of", "_id.day", "_id.link_id")

SHARD_KEYS: Final[Mapping[str, Mapping[str, Any]]] = {
    "clicks": {"_id": "hashed"},
    "deliveries": {"_id": "hashed"},
    "rollups": dict.fromkeys(ROLLUP_KEY, 1),
}


def commands(database: str) -> list[dict[str, Any]]:
    """Return what to run on the database `admin` of a router, in this order; again is harmless.

    The index of a key is made by `shardCollection` where the collection is empty, and has to exist
    elsewhere: that of rollups does, a hashed one is made first.
    """
    found: list[dict[str, Any]] = [{"enableSharding": database}]
    for collection, key in SHARD_KEYS.items():
        found.append({"shardCollection": f"{database}.{collection}", "key": dict(key)})
    return found


def hashed() -> list[str]:
    """Return the collections that need a hashed index of `_id` before they are sharded."""
    return [name for name, key in SHARD_KEYS.items() if key.get("_id") == "hashed"]
