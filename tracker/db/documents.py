"""MongoDB documents: structs as documents, with `id` as `_id`; ids and writes by the hundred."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Self, TypeVar
from uuid import UUID

import msgspec
from bson.binary import UUID_SUBTYPE, Binary
from pymongo.errors import OperationFailure

from tracker.db.connect import Database
from tracker.db.transaction import Session

DUPLICATE_KEY = 11000

Kind = TypeVar("Kind")


class StoredId(Binary):
    """The 16 bytes of a UUID, as MongoDB stores them; it gives back a `uuid.UUID`.

    For what is stored for every click: a `uuid.UUID` is made, hashed and encoded by Python code,
    which takes 4 µs. In memory one equals its bytes, and no UUID. Raises ValueError for any other
    number of bytes.
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


@lru_cache(maxsize=10_000)
def owner_id(stored: bytes) -> UUID:
    """Return the id of an account or a link from its 16 bytes; few ids have many clicks."""
    return UUID(bytes=stored)


def as_read(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return `document` as MongoDB returns it."""
    return {
        name: UUID(bytes=field) if isinstance(field, StoredId) else field
        for name, field in document.items()
    }


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
