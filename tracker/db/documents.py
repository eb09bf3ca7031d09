"""MongoDB documents: structs as documents, with `id` as `_id`; ids and writes by the hundred."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Self, TypeVar
from uuid import UUID

import msgspec
from bson.binary import UUID_SUBTYPE, Binary, UuidRepresentation
from bson.codec_options import TypeDecoder, TypeRegistry
from pymongo.errors import OperationFailure

from tracker.db.connect import Collection, Database
from tracker.db.transaction import Session

DUPLICATE_KEY = 11000

Kind = TypeVar("Kind")


class StoredId(Binary):
    """An id in `bytes`, the 16 of a UUID, that the driver writes as a UUID; else it is its bytes.

    Made where a document or a command is built. Whoever reads ids as bytes (`with_byte_ids`) needs
    no other type: a `uuid.UUID` is made, hashed and encoded by Python code, which takes 4 µs, and
    every click has three. Raises ValueError for any other number of bytes.
    """

    __slots__ = ()
    subtype = UUID_SUBTYPE
    # All that in a Binary knows of a subtype of its own.
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
    """Return an id as a command takes it; None if there is none."""
    return None if uuid is None else StoredId(uuid)


def stored_ids(ids: Iterable[bytes]) -> list[StoredId]:
    """Return ids as a command takes them; those that are already StoredIds are kept."""
    return [one if type(one) is StoredId else StoredId(one) for one in ids]


def as_stored(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return `document` as a command takes it: its `bytes` are ids.

    Raises ValueError if they do not have 16 bytes.
    """
    return {
        name: StoredId(field) if isinstance(field, bytes) else field
        for name, field in document.items()
    }


def as_read(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return `document` as MongoDB returns it: its `bytes` are UUIDs."""
    return {
        name: UUID(bytes=field) if isinstance(field, bytes) else field
        for name, field in document.items()
    }


class _AsBytes(TypeDecoder):
    """The decoding of ids as `bytes`."""

    bson_type = Binary

    def transform_bson(self, value: Binary) -> bytes:
        return bytes(value)


_BYTE_IDS: Final = TypeRegistry([_AsBytes()])


def with_byte_ids(collection: Collection) -> Collection:
    """Return the collection with its ids read as `bytes`: UUIDs would double the time of a read."""
    options = collection.codec_options.with_options(
        uuid_representation=UuidRepresentation.UNSPECIFIED, type_registry=_BYTE_IDS
    )
    return collection.with_options(codec_options=options)


CACHED_IDS: Final = 10_000
"""Ids of accounts and links that stay converted in memory; few of them have many clicks."""


@lru_cache(maxsize=CACHED_IDS)
def shared_id(uuid: bytes) -> StoredId:
    """Return the id of an account or a link as a command takes it."""
    return StoredId(uuid)


@lru_cache(maxsize=CACHED_IDS)
def owner_id(stored: bytes) -> UUID:
    """Return the id of an account or a link from its 16 bytes."""
    return UUID(bytes=stored)


def document(record: msgspec.Struct) -> dict[str, Any]:
    """Return the document of a struct."""
    fields = msgspec.structs.asdict(record)
    fields["_id"] = fields.pop("id")
    return fields


def record(kind: type[Kind], document: Mapping[str, Any]) -> Kind:
    """Return the struct of a document; fields that `kind` does not have are left out."""
    return msgspec.convert({**document, "id": document["_id"]}, kind)


async def run_inserts(
    database: Database, collection: str, documents: Sequence[Mapping[str, Any]], session: Session
) -> None:
    """Insert all documents, which have `_id`s, in the transaction of `session`.

    One command: the driver's `insert_many` takes 2 µs a document for what it does around it. Raises
    OperationFailure for the first that MongoDB refuses, and DocumentTooLarge if they are more than
    16 MB together; nothing of the transaction is stored then.
    """
    await _run(database, {"insert": collection, "documents": documents}, session)


async def run_updates(
    database: Database,
    collection: str,
    updates: Sequence[Mapping[str, Any]],
    session: Session | None = None,
) -> int:
    """Carry out statements of the `update` command. Return the number of documents matched.

    In the transaction of `session`; without one, what is done is durable when this returns, and
    some of it may be done when it raises. One command: the driver's own bulk write costs far more a
    statement. Raises OperationFailure, and DocumentTooLarge as `run_inserts` does.
    """
    if not updates:
        return 0
    durable = {} if session else {"writeConcern": {"w": "majority", "j": True}}
    command = {"update": collection, "updates": updates, **durable}
    return int((await _run(database, command, session))["n"])


async def _run(
    database: Database, command: dict[str, Any], session: Session | None
) -> Mapping[str, Any]:
    answer = await database.command(command, session=session, codec_options=database.codec_options)
    if errors := answer.get("writeErrors"):
        raise OperationFailure(errors[0]["errmsg"], errors[0]["code"], errors[0])
    return answer
