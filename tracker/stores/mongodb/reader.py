"""Reads of MongoDB on the event loop, of now or of one snapshot.

For what answers wait for. Motor takes each question to a thread and back: 0.3 to 0.5 ms, of which
a page of a feed has four and an overview twenty. Whatever is stored, motor stores.

Guarantee: however many small rows there are, decoding them holds up the event loop for a few
milliseconds at most. Other requests are served between two batches. Who reads large rows names a
smaller batch.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

from bson.binary import UuidRepresentation
from pymongo.errors import AutoReconnect

from tracker.stores.mongodb.drivers import (
    ReadingCommandCursor,
    ReadingCursor,
    ReadingDatabase,
    ReadingSession,
)

ROWS_AT_ONCE: Final = 1000
"""Rows of a batch, unless a read names another number. A small one takes 1 to 3 µs to decode, and a
whole click 8."""

Fields = Sequence[str] | Mapping[str, Any] | None
Document = dict[str, Any]


@contextmanager
def lost_connections() -> Iterator[None]:
    """Translate uvloop's error for a connection that the other end closed.

    Raises AutoReconnect if there is one.
    """
    try:
        yield
    except RuntimeError as error:
        raise AutoReconnect(str(error)) from error


class Reader:
    """A reader of the primary: of what a majority has acknowledged, or of one snapshot.

    A snapshot takes one question at a time. A read that is given up closes its cursor. Each read
    raises PyMongoError if MongoDB fails or does not answer in time. `options` are those of
    PyMongo's `find` or `aggregate`.
    """

    def __init__(self, database: ReadingDatabase, session: ReadingSession | None = None) -> None:
        self._database = database
        self._session = session

    @asynccontextmanager
    async def at_one_snapshot(self) -> AsyncIterator["Reader"]:
        """Yield a reader of one snapshot, which begins with its first read."""
        async with self._database.client.start_session(snapshot=True) as session:
            yield Reader(self._database, session)

    def with_binary_ids(self) -> "Reader":
        """Return a reader of the same whose ids are `Binary`: UUIDs would double what they cost."""
        options = self._database.codec_options.with_options(
            uuid_representation=UuidRepresentation.UNSPECIFIED
        )
        return Reader(self._database.with_options(codec_options=options), self._session)

    def latest(self) -> "Reader":
        """Return the reader of what is stored by now, whatever snapshot this one reads."""
        return Reader(self._database)

    async def find(
        self, collection: str, matching: Mapping[str, Any], fields: Fields = None, **options: Any
    ) -> list[Document]:
        with lost_connections():
            async with self._cursor(collection, matching, fields, options) as found:
                return await found.to_list()

    async def find_one(
        self, collection: str, matching: Mapping[str, Any], fields: Fields = None, **options: Any
    ) -> Document | None:
        found = await self.find(collection, matching, fields, limit=1, **options)
        return found[0] if found else None

    async def each(
        self, collection: str, matching: Mapping[str, Any], fields: Fields = None, **options: Any
    ) -> AsyncGenerator[Document, None]:
        """Yield the documents that match. Close it (`aclosing`) if you do not take all of them."""
        with lost_connections():
            async with self._cursor(collection, matching, fields, options) as found:
                async for row in found:
                    yield row

    async def each_of(
        self, collection: str, stages: Sequence[Mapping[str, Any]], **options: Any
    ) -> AsyncGenerator[Document, None]:
        """Yield what a pipeline yields. Close it (`aclosing`) if you do not take all of it."""
        with lost_connections():
            async with await self._aggregation(collection, stages, options) as found:
                async for row in found:
                    yield row

    async def aggregate(
        self, collection: str, stages: Sequence[Mapping[str, Any]], **options: Any
    ) -> list[Document]:
        with lost_connections():
            async with await self._aggregation(collection, stages, options) as found:
                return await found.to_list()

    async def count(self, collection: str, matching: Mapping[str, Any], **options: Any) -> int:
        """Return the number of documents that match. `options` are those of `count_documents`."""
        with lost_connections():
            return await self._database[collection].count_documents(
                matching, session=self._session, **options
            )

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
