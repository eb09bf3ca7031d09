"""MongoDB documents: conversion of structs and ids, and commands that write many documents."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, Self, TypeVar
from uuid import UUID

import msgspec
from bson.binary import UUID_SUBTYPE, Binary, UuidRepresentation
from bson.codec_options import TypeDecoder, TypeRegistry
from pymongo import ReturnDocument
from pymongo.errors import OperationFailure

from tracker.errors import NotFound
from tracker.stores.mongodb.drivers import Collection, Database
from tracker.stores.mongodb.transaction import MongoSession

DUPLICATE_KEY = 11000
DOCUMENT_TOO_LARGE: Final = (10334, 17419)
"""Errors of an update whose result is larger than 16 MB."""

_MAX_CHARACTERS: Final = 3_000_000
"""Each has at most 4 bytes, and the driver can send 16 MB."""

_OF_DRIVER: Final = (UUID, bytes, datetime, Decimal)

Kind = TypeVar("Kind")


class StoredId(Binary):
    """The 16 bytes of an id that the driver writes as a UUID. Otherwise it equals `bytes`.

    A `uuid.UUID` costs 4 µs of Python code, and every click has three. Raises ValueError unless
    `uuid` has 16 bytes, as do all functions here that make one.
    """

    __slots__ = ()
    subtype = UUID_SUBTYPE
    # Binary would treat the subtype as a part of the value.
    __eq__ = bytes.__eq__
    __ne__ = bytes.__ne__
    __hash__ = bytes.__hash__
    __repr__ = bytes.__repr__
    __getnewargs__ = bytes.__getnewargs__  # type: ignore[assignment]

    def __new__(cls, uuid: bytes) -> Self:
        if len(uuid) != 16:
            raise ValueError("a UUID has 16 bytes")
        return bytes.__new__(cls, uuid)


def stored_id(uuid: bytes | None) -> StoredId | None:
    return None if uuid is None else StoredId(uuid)


def stored_ids(ids: Iterable[bytes]) -> list[StoredId]:
    """Return ids as a command takes them; a StoredId stays as it is."""
    return [one if type(one) is StoredId else StoredId(one) for one in ids]


def as_stored(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return `document` as a command takes it, with its `bytes` as ids."""
    return {
        name: StoredId(field) if isinstance(field, bytes) else field
        for name, field in document.items()
    }


def as_read(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return `document` as MongoDB returns it, with its `bytes` as UUIDs."""
    return {
        name: UUID(bytes=field) if isinstance(field, bytes) else field
        for name, field in document.items()
    }


class _AsBytes(TypeDecoder):
    bson_type = Binary

    def transform_bson(self, value: Binary) -> bytes:
        return bytes(value)


_BYTE_IDS: Final = TypeRegistry([_AsBytes()])


def with_stored_ids(value: Any) -> Any:
    """Return a filter as a command takes it, with its UUIDs as StoredIds, at any depth."""
    if isinstance(value, UUID):
        return StoredId(value.bytes)
    if isinstance(value, Mapping):
        return {name: with_stored_ids(one) for name, one in value.items()}
    if isinstance(value, list):
        return [with_stored_ids(one) for one in value]
    return value


def with_byte_ids(collection: Collection) -> Collection:
    """Return the collection with ids as `bytes`. UUIDs would double the time of a read."""
    options = collection.codec_options.with_options(
        uuid_representation=UuidRepresentation.UNSPECIFIED, type_registry=_BYTE_IDS
    )
    return collection.with_options(codec_options=options)


CACHED_IDS: Final = 10_000
"""Ids of accounts and links; few of them have many clicks."""


def shared_id(uuid: bytes) -> StoredId:
    """Return the id as a command takes it; a StoredId stays as it is."""
    return uuid if type(uuid) is StoredId else _cached_id(uuid)


@lru_cache(maxsize=CACHED_IDS)
def _cached_id(uuid: bytes) -> StoredId:
    return StoredId(uuid)


@lru_cache(maxsize=CACHED_IDS)
def owner_id(stored: bytes) -> UUID:
    return UUID(bytes=stored)


def as_document(struct: msgspec.Struct) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(struct, builtin_types=_OF_DRIVER)
    fields["_id"] = fields.pop("id")
    return fields


def as_struct(kind: type[Kind], document: Mapping[str, Any]) -> Kind:
    """Return the struct of a document, without fields that `kind` does not have."""
    return msgspec.convert({**document, "id": document["_id"]}, kind)


async def updated(
    collection: Collection,
    matching: Mapping[str, Any],
    update: Mapping[str, Any],
    name: str,
    session: MongoSession | None = None,
) -> dict[str, Any]:
    """Return the updated document. Raises NotFound, naming `name`, if none matches."""
    row = await collection.find_one_and_update(
        matching, update, return_document=ReturnDocument.AFTER, session=session
    )
    if row is None:
        raise NotFound(f"{name}: not found")
    return row


async def run_inserts(
    database: Database,
    collection: str,
    documents: Sequence[Mapping[str, Any]],
    session: MongoSession,
) -> None:
    """Insert all documents, which have `_id`s, in the transaction of `session`.

    The driver's `insert_many` would add 2 µs a document. Raises OperationFailure or
    DocumentTooLarge; nothing of the transaction is stored then.
    """
    await _run(database, {"insert": collection, "documents": documents}, session)


async def run_updates(
    database: Database,
    collection: str,
    updates: Sequence[Mapping[str, Any]],
    session: MongoSession | None = None,
    durable: bool = True,
) -> int:
    """Run the statements of an `update` command; return the number of documents matched.

    Without `session`, they are durable when this returns, unless `durable` is False. If it raises,
    some may be applied. Raises OperationFailure or DocumentTooLarge.
    """
    if not updates:
        return 0
    command: dict[str, Any] = {"update": collection, "updates": updates}
    if session is None:
        command["writeConcern"] = {"w": "majority", "j": True} if durable else {"w": 1}
    return int((await _run(database, command, session))["n"])


def sendable(updates: Sequence[Mapping[str, Any]]) -> Iterator[Sequence[Mapping[str, Any]]]:
    """Yield statements that set texts in pieces that `run_updates` can run, if each is short."""
    piece: list[Mapping[str, Any]] = []
    total = 0
    for one in updates:
        characters = sum(len(text or "") for text in one["u"]["$set"].values())
        if piece and total + characters > _MAX_CHARACTERS:
            yield piece
            piece, total = [], 0
        piece.append(one)
        total += characters
    if piece:
        yield piece


async def _run(
    database: Database, command: dict[str, Any], session: MongoSession | None
) -> Mapping[str, Any]:
    answer = await database.command(command, session=session, codec_options=database.codec_options)
    if errors := answer.get("writeErrors"):
        raise OperationFailure(errors[0]["errmsg"], errors[0]["code"], errors[0])
    return answer
