"""Reads of MongoDB on the event loop, for requests. Writes go through motor.

Motor takes each query to a thread and back: 0.3 to 0.5 ms, of which an overview has twenty.
Guarantee: decoding many small rows blocks the loop for a few milliseconds at most. Callers with
large rows set a smaller batch.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

from bson.binary import UuidRepresentation
from pymongo.errors import AutoReconnect, PyMongoError
from pymongo.read_concern import ReadConcern

from tracker.stores.mongodb.drivers import (
    ReadingCommandCursor,
    ReadingCursor,
    ReadingDatabase,
    ReadingSession,
)

ROWS_AT_ONCE: Final = 1000
"""A small row takes 1 to 3 µs to decode, and a whole click 8."""

Fields = Sequence[str] | Mapping[str, Any] | None
Document = dict[str, Any]


@contextmanager
def lost_connections() -> Iterator[None]:
    """Raises AutoReconnect in place of uvloop's error for a connection that was closed."""
    try:
        yield
    except RuntimeError as error:
        raise AutoReconnect(str(error)) from error


class MongoReads:
    """A reader of majority-acknowledged data. A snapshot takes one query at a time."""

    def __init__(self, database: ReadingDatabase, session: ReadingSession | None = None) -> None:
        self._database = database
        self._session = session
        self._with_binary_ids: MongoReads | None = None

    @asynccontextmanager
    async def at_one_snapshot(self) -> AsyncIterator["MongoReads"]:
        """Yield a reader of one snapshot, which begins with its first read."""
        async with self._database.client.start_session(snapshot=True) as session:
            yield MongoReads(self._database, session)

    def with_binary_ids(self) -> "MongoReads":
        """Return a reader whose ids are `Binary`: UUIDs would double the cost."""
        if self._with_binary_ids is None:
            options = self._database.codec_options.with_options(
                uuid_representation=UuidRepresentation.UNSPECIFIED
            )
            database = self._database.with_options(codec_options=options)
            self._with_binary_ids = MongoReads(database, self._session)
        return self._with_binary_ids

    def of_primary(self) -> "MongoReads":
        """Return a reader of the newest data of the primary, which a failover may lose."""
        return MongoReads(self._database.with_options(read_concern=ReadConcern("local")))

    def latest(self) -> "MongoReads":
        """Return a reader of the present, whatever snapshot this one reads."""
        return MongoReads(self._database)

    async def find(
        self, collection: str, matching: Mapping[str, Any], fields: Fields = None, **options: Any
    ) -> list[Document]:
        if self._session is None and 0 < options.get("limit", 0) <= ROWS_AT_ONCE:
            shown = fields if isinstance(fields, Mapping) else _shown(fields)
            of_find = {"filter": matching, "projection": shown, "batchSize": options["limit"] + 1}
            rows = await self._in_one_batch("find", collection, {**of_find, **options})
            if rows is not None:
                return rows
        with lost_connections():
            async with self._cursor(collection, matching, fields, options) as found:
                return await found.to_list()

    async def find_one(
        self, collection: str, matching: Mapping[str, Any], fields: Fields = None, **options: Any
    ) -> Document | None:
        found = await self.find(collection, matching, fields, limit=1, **options)
        return found[0] if found else None

    async def find_each(
        self, collection: str, matching: Mapping[str, Any], fields: Fields = None, **options: Any
    ) -> AsyncGenerator[Document, None]:
        """Yield the documents. Close it (`aclosing`) if you do not take all of them."""
        with lost_connections():
            async with self._cursor(collection, matching, fields, options) as found:
                async for row in found:
                    yield row

    async def aggregate_each(
        self, collection: str, stages: Sequence[Mapping[str, Any]], **options: Any
    ) -> AsyncGenerator[Document, None]:
        """Yield the results. Close it (`aclosing`) if you do not take all of them."""
        with lost_connections():
            async with await self._aggregation(collection, stages, options) as found:
                async for row in found:
                    yield row

    async def aggregate(
        self,
        collection: str,
        stages: Sequence[Mapping[str, Any]],
        at_most: int | None = None,
        **options: Any,
    ) -> list[Document]:
        """Return the results. More than `at_most` are found too, but cost a second query."""
        if self._session is None and at_most is not None:
            batch = {"cursor": {"batchSize": at_most + 1}}
            of_aggregate = {"pipeline": list(stages), "allowDiskUse": True, **batch}
            rows = await self._in_one_batch("aggregate", collection, {**of_aggregate, **options})
            if rows is not None:
                return rows
        with lost_connections():
            async with await self._aggregation(collection, stages, options) as found:
                return await found.to_list()

    async def count(self, collection: str, matching: Mapping[str, Any], **options: Any) -> int:
        with lost_connections():
            return await self._database[collection].count_documents(
                matching, session=self._session, **options
            )

    async def _in_one_batch(
        self, command: str, collection: str, options: Mapping[str, Any]
    ) -> list[Document] | None:
        """Return all rows that a command finds; None if a cursor has to be tried.

        A cursor of the driver takes 0.1 ms more. It asks again where that may help, as after the
        loss of a connection or while a primary is elected.
        """
        database = self._database
        concern = {"readConcern": database.read_concern.document}
        asked = {command: collection, **_as_command(options), **concern}
        try:
            with lost_connections():
                answer = await database.command(asked, codec_options=database.codec_options)
                found = answer["cursor"]
                if found["id"]:
                    kill = {"killCursors": collection, "cursors": [found["id"]]}
                    await database.command(kill)
                    return None
        except PyMongoError as error:
            if error.timeout:
                raise
            return None
        rows: list[Document] = found["firstBatch"]
        return rows

    async def _aggregation(
        self, collection: str, stages: Sequence[Mapping[str, Any]], options: Any
    ) -> ReadingCommandCursor:
        chosen = {"allowDiskUse": True, "batchSize": ROWS_AT_ONCE, **options}
        source = self._database[collection]
        return await source.aggregate(list(stages), session=self._session, **chosen)

    def _cursor(
        self, collection: str, matching: Mapping[str, Any], fields: Fields, options: Any
    ) -> ReadingCursor:
        chosen = {"batch_size": ROWS_AT_ONCE, **options}
        return self._database[collection].find(matching, fields, session=self._session, **chosen)


def _shown(fields: Sequence[str] | None) -> Mapping[str, Any] | None:
    return None if fields is None else dict.fromkeys(fields or ("_id",), 1)


def _as_command(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a cursor as its command takes them."""
    chosen = {name: value for name, value in options.items() if value is not None}
    for name in ("sort", "hint"):
        if isinstance(chosen.get(name), list):
            chosen[name] = dict(chosen[name])
    if "collation" in chosen:
        chosen["collation"] = chosen["collation"].document
    return chosen
