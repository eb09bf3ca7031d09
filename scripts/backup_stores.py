"""Copies and restores the spool, Redis and MongoDB, for `scripts/backup`."""

import contextlib
import os
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

from pymongo.errors import OperationFailure
from redis.asyncio import Redis

from scripts.backup_files import PartWriter, documents, raw_documents
from tracker.conversions.event_ids import GAP_IDS
from tracker.errors import TrackerError
from tracker.journal.partitions import MAX_PARTITIONS
from tracker.journal.spool_file import SUFFIX, WAL_SUFFIX
from tracker.stores.mongodb.drivers import Database
from tracker.stores.redis import keys
from tracker.stores.redis.cluster import is_cluster

SPOOL: Final = "spool"
REDIS: Final = "redis"
MONGODB: Final = "mongodb."

_STREAMS: Final = keys.streams(MAX_PARTITIONS)
_DEAD_LETTER_STREAMS: Final = (keys.DEAD_LETTERS, *dict.fromkeys(map(keys.dead_letters, _STREAMS)))
_COPIED_KEYS: Final = ("transaction:*", "conversions:*", "visitors:*", "used_clicks:*")
"""Redis keys with data that MongoDB does not have. The others are copies, leases and limits."""

_EXPIRED: Final = -2
"""The PTTL of a key that no longer exists. -1 means no expiry."""

_ENTRIES_PER_BATCH: Final = 200
_KEYS_PER_BATCH: Final = 500
_DOCUMENTS_PER_BATCH: Final = 1000
_WAL_HEADER_BYTES: Final = 32
_SNAPSHOT_EXPIRED: Final = (239, 246)
"""Codes of MongoDB: SnapshotTooOld, SnapshotUnavailable."""


def copy_spool(folders: Iterable[Path], writer: PartWriter) -> None:
    """Copy the files of spools. A file that is replayed meanwhile is in Redis.

    Raises OSError if a file cannot be read, because its records would be missing.
    """
    for folder in folders:
        for path in _spool_files(folder):
            with contextlib.suppress(FileNotFoundError):
                for name, contents in _copy_of(path).items():
                    writer.add({"name": name, "contents": contents})


def _copy_of(path: Path) -> dict[str, bytes]:
    """Return the contents of a spool file and of its write-ahead log.

    Its process may append meanwhile, and move pages from the log to the database. A log with the
    same header before and after has every page that was moved, so the copies fit together.
    """
    log = path.with_suffix(WAL_SUFFIX)
    while True:
        before = _read_if_there(log)[:_WAL_HEADER_BYTES]
        database, after = path.read_bytes(), _read_if_there(log)
        if before == after[:_WAL_HEADER_BYTES] == _read_if_there(log)[:_WAL_HEADER_BYTES]:
            return {path.name: database} | ({log.name: after} if after else {})


def _read_if_there(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def restore_spool(folder: Path, name: str, spool: Path) -> None:
    """Write the files into the spool's folder."""
    spool.mkdir(parents=True, exist_ok=True, mode=0o700)
    for one in documents(folder, name):
        with (spool / Path(one["name"]).name).open("xb") as file:
            file.write(one["contents"])
            file.flush()
            os.fsync(file.fileno())


async def copy_redis(redis: Redis, writer: PartWriter) -> None:
    """Copy the data that only Redis has.

    Claims come before the journal, so the event of each claim is in the backup. Dead letters come
    before and after it, because they move both ways.
    """
    if not is_cluster(redis):
        for pattern in _COPIED_KEYS:
            await _copy_keys(redis, pattern, writer)
    seen = {
        stream: await _copy_stream(redis, stream, "-", writer) for stream in _DEAD_LETTER_STREAMS
    }
    for stream in _STREAMS:
        await _copy_stream(redis, stream, "-", writer)
    for stream, after in seen.items():
        await _copy_stream(redis, stream, after, writer)


async def restore_redis(redis: Redis, folder: Path, name: str) -> None:
    """Write keys and entries, without keys that have expired meanwhile."""
    now = time.time_ns() // 1_000_000
    rows = (
        one for one in documents(folder, name) if "key" not in one or not 0 < one["expires"] <= now
    )
    while batch := list(islice(rows, _ENTRIES_PER_BATCH)):
        for one in batch:
            if "key" in one:
                await redis.restore(one["key"], one["expires"], one["dump"], absttl=True)
            else:
                entry = (one["stream"], one["id"], *one["fields"])
                await redis.execute_command("XADD", *entry)  # type: ignore[no-untyped-call]


async def copy_mongodb(database: Database, folder: Path) -> AsyncIterator[PartWriter]:
    """Copy every collection in one snapshot; yield the writer of each once it is written.

    Raises TrackerError if MongoDB drops the snapshot before the end.
    """
    names = sorted(await database.list_collection_names(filter={"type": "collection"}))
    async with await database.client.start_session(snapshot=True) as session:
        for name in names:
            with PartWriter(folder, f"{MONGODB}{name}") as writer:
                try:
                    found = database[name].find_raw_batches({}, session=session)
                    async for batch in found:
                        writer.add_raw(batch)
                except OperationFailure as error:
                    if error.code not in _SNAPSHOT_EXPIRED:
                        raise
                    raise TrackerError(_TOO_LARGE) from error
            yield writer


_TOO_LARGE: Final = (
    "MongoDB has dropped the snapshot of the backup: set minSnapshotHistoryWindowInSeconds "
    "(300) above the seconds that the copy takes, or copy MongoDB by a snapshot of its volume"
)


async def restore_collection(database: Database, name: str, folder: Path) -> None:
    """Insert the documents of a part into their collection."""
    rows = raw_documents(folder, name)
    collection: Any = database[name.removeprefix(MONGODB)]
    while batch := list(islice(rows, _DOCUMENTS_PER_BATCH)):
        await collection.insert_many(batch, ordered=False)


async def skip_event_ids(database: Database) -> None:
    """Skip the ids that were given to networks after the backup."""
    await database["counters"].update_one({"_id": "event_id"}, {"$inc": {"last": GAP_IDS}})


def check_spool_is_empty(folder: Path) -> None:
    """Raises TrackerError if there is a spool, OSError if it cannot be read.

    A restore would mix with it.
    """
    if folder.exists() and _spool_files(folder):
        raise TrackerError(f"{folder}: not empty")


async def check_empty(redis: Redis, database: Database) -> None:
    """Raises TrackerError if the stores have data, which a restore would mix with."""
    for stream in (*_STREAMS, *_DEAD_LETTER_STREAMS):
        if await redis.xlen(stream):
            raise TrackerError(f"Redis is not empty: {stream} has entries")
    for pattern in _COPIED_KEYS:
        async for key in redis.scan_iter(match=pattern, count=_KEYS_PER_BATCH):
            raise TrackerError(f"Redis is not empty: {key.decode(errors='replace')} is there")
    for name in await database.list_collection_names():
        if await database[name].find_one({}, ["_id"]):
            raise TrackerError(f"MongoDB is not empty: {database.name}.{name} has documents")


def _spool_files(folder: Path) -> list[Path]:
    # Path.glob ignores a folder that it may not read.
    return sorted(path for path in folder.iterdir() if path.suffix == SUFFIX)


async def _copy_keys(redis: Redis, pattern: str, writer: PartWriter) -> None:
    found: list[bytes] = []
    async for key in redis.scan_iter(match=pattern, count=_KEYS_PER_BATCH):
        found.append(key)
        if len(found) == _KEYS_PER_BATCH:
            await _dump(redis, found, writer)
            found = []
    await _dump(redis, found, writer)


async def _dump(redis: Redis, found: Sequence[bytes], writer: PartWriter) -> None:
    pipeline = redis.pipeline(transaction=False)
    for key in found:
        pipeline.dump(key)
        pipeline.pttl(key)
    now = time.time_ns() // 1_000_000
    answers = await pipeline.execute() if found else []
    for key, dump, left in zip(found, answers[::2], answers[1::2], strict=True):
        if dump is not None and left != _EXPIRED:
            writer.add({"key": key, "dump": dump, "expires": now + left if left >= 0 else 0})


async def _copy_stream(redis: Redis, stream: str, after: str, writer: PartWriter) -> str:
    """Copy a stream up to its present last entry; return the position to continue after."""
    newest: Any = await redis.xrevrange(stream, count=1)
    while newest:
        entries: Any = await redis.xrange(stream, after, newest[0][0], _ENTRIES_PER_BATCH)
        for last, fields in entries:
            flat = [part for pair in fields.items() for part in pair]
            writer.add({"stream": stream, "id": last, "fields": flat})
            after = f"({last.decode()}"
        if len(entries) < _ENTRIES_PER_BATCH:
            break
    return after
