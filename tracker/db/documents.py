"""Structs as MongoDB documents: the field `id` is the document's `_id`."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from pymongo.errors import OperationFailure

from tracker.db.connect import Database
from tracker.db.transaction import Session

DUPLICATE_KEY = 11000

Kind = TypeVar("Kind")


def document(record: msgspec.Struct) -> dict[str, Any]:
    fields = msgspec.structs.asdict(record)
    fields["_id"] = fields.pop("id")
    return fields


def record(kind: type[Kind], document: Mapping[str, Any]) -> Kind:
    """Fields that `kind` does not have are left out."""
    return msgspec.convert({**document, "id": document["_id"]}, kind)


async def run_updates(
    database: Database,
    collection: str,
    updates: Sequence[Mapping[str, Any]],
    session: Session | None = None,
) -> int:
    """Carry out statements of the `update` command; how many documents matched.

    In the transaction of `session`; without one, what is done is durable when this returns, and
    some of it may be done when it raises. One command: the driver's own bulk write costs far more a
    statement. Raises OperationFailure.
    """
    if not updates:
        return 0
    durable = {} if session else {"writeConcern": {"w": "majority", "j": True}}
    answer = await database.command(
        {"update": collection, "updates": updates, **durable},
        session=session,
        codec_options=database.codec_options,
    )
    if errors := answer.get("writeErrors"):
        raise OperationFailure(errors[0]["errmsg"], errors[0]["code"], errors[0])
    return int(answer["n"])
