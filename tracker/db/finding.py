"""Queries to MongoDB over one connection that is kept (`db/link`), for whoever sends one after the
other all the time: what conversions wait for.

Of thirty clicks this costs 150 µs, PyMongo's asynchronous client 400, and motor with its threads
600. The messages are OP_MSG of MongoDB's wire protocol, with one document each way
(https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/).
"""

import asyncio
import struct
from collections.abc import Mapping, Sequence
from typing import Any, Final

import bson
from bson.errors import InvalidBSON
from pymongo.errors import AutoReconnect, NetworkTimeout, OperationFailure
from pymongo.server_selectors import writable_server_selector

from tracker.db import connect
from tracker.db.connect import LookUpCollection
from tracker.db.link import NOT_YET, Link

_HEAD: Final = struct.Struct("<iiiiIB")
"""Length of the message, its number, that of the message it answers, kind of message, flags, kind
of what follows."""

_OP_MSG: Final = 2013
_NUMBERS: Final = (1 << 31) - 1
"""Of messages, before they begin again at 1."""

_LONGEST: Final = 48_000_000
"""Bytes, of any message of MongoDB."""


class Finding:
    """Finds in one collection, by the primary, what a majority has. One query at a time: whoever
    asks sees to that. The connection is one of the pool of the collection's client; after any error
    it is made anew."""

    def __init__(self, collection: LookUpCollection) -> None:
        database = collection.database
        self._client: Any = database.client
        self._options = collection.codec_options
        self._command: dict[str, Any] = {
            "find": collection.name,
            "readConcern": {"level": "majority"},
            "singleBatch": True,
            "$db": database.name,
        }
        self._number = 0
        self._is_closed = False
        self._pool: Any = None
        self._connection: Any = None
        self._link: _Link | None = None

    async def rows(
        self, wanted: Mapping[str, Any], fields: Sequence[str], most: int
    ) -> list[dict[str, Any]]:
        """Of the documents that are as `wanted`, `most` at most: their ids and `fields`. Raises
        PyMongoError. If the connection was lost since the last query, it is sent on another."""
        shown = dict.fromkeys(("_id", *fields), 1)
        rest = {"filter": wanted, "projection": shown, "batchSize": most}
        document = bson.encode({**self._command, **rest}, codec_options=self._options)
        number = self._number = self._number % _NUMBERS + 1
        head = _HEAD.pack(_HEAD.size + len(document), number, 0, _OP_MSG, 0, 0)
        answer = await self._asked(head + document)
        try:
            return self._read(answer, number)
        except OperationFailure:
            # It may be the primary no longer: the client knows who is, or soon will.
            await self._drop()
            raise

    async def close(self) -> None:
        """For good: a query after it, or under way, fails."""
        self._is_closed = True
        await self._drop()

    async def _asked(self, message: bytes) -> bytes:
        if self._link is not None:
            try:
                return bytes(await self._link.ask(message))
            except NetworkTimeout:
                raise
            except AutoReconnect:
                self._link = None
        link = await self._opened()
        return bytes(await link.ask(message))

    async def _opened(self) -> "_Link":
        await self._drop()
        if self._is_closed:
            raise AutoReconnect("closed")
        server = await self._client._select_server(writable_server_selector, None, "find")
        self._pool = server.pool
        try:
            self._connection = await self._pool.checkout().__aenter__()
            transport = self._connection.conn.get_conn.transport
            self._link = _Link(transport, connect.MONGODB_TIMEOUT)
        except RuntimeError as error:  # uvloop's, of a connection that the other end closed
            raise AutoReconnect(str(error)) from error
        return self._link

    async def _drop(self) -> None:
        self._link = None
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                await connection.close_conn(None)
            finally:  # or its place in the pool would be taken for good
                await self._pool.checkin(connection)

    def _read(self, answer: bytes, number: int) -> list[dict[str, Any]]:
        """Raises OperationFailure."""
        _, _, answered, kind, _, _ = _HEAD.unpack_from(answer)
        if (answered, kind) != (number, _OP_MSG):
            raise OperationFailure("this is no answer to what was asked")
        try:
            found = bson.decode(answer[_HEAD.size :], self._options)
        except InvalidBSON as error:
            raise OperationFailure(f"the answer cannot be read: {error}") from None
        if not found["ok"]:
            raise OperationFailure(found.get("errmsg", ""), found.get("code"), found)
        rows: list[dict[str, Any]] = found["cursor"]["firstBatch"]
        return rows


class _Link(Link):
    """Whole messages."""

    lost = AutoReconnect
    late = NetworkTimeout

    def __init__(self, transport: asyncio.Transport, seconds: float) -> None:
        super().__init__(transport, seconds)
        self._received = b""

    def reply(self, data: bytes) -> Any:
        received = self._received + data if self._received else data
        length = int.from_bytes(received[:4], "little") if len(received) >= 4 else _HEAD.size
        if not _HEAD.size <= length <= _LONGEST or len(received) > length:
            raise ValueError("no message, or more than one")
        if len(received) < length:
            self._received = received
            return NOT_YET
        self._received = b""
        return received
