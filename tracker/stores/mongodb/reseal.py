"""Rewriting of stored secrets, encrypted or plain. It may run again, and beside the service."""

from collections import Counter
from collections.abc import AsyncIterable, Callable, Mapping
from typing import Any, NamedTuple
from uuid import UUID

from tracker.stores.mongodb.drivers import Collection, Database
from tracker.stores.secret_box import PREFIX, SecretBox, UnreadableSecret


class SealedFields(NamedTuple):
    """The fields of a collection that hold secrets, and the box that seals them."""

    collection: str
    fields: tuple[str, ...]
    box: SecretBox


async def count_secrets(database: Database, sealed: SealedFields) -> Counter[str]:
    """Return the number of secrets by form: `plain`, `key`, `older_key` or `unreadable`."""
    found: Counter[str] = Counter()
    async for row in _rows(database, sealed):
        found.update(
            _form(sealed.box, row["_id"], row[name]) for name in sealed.fields if row.get(name)
        )
    return found


async def rewrite_secrets(
    database: Database, sealed: SealedFields, convert: Callable[[UUID, str], str]
) -> Counter[str]:
    """Rewrite each secret by `convert`; count documents `rewritten`, `unreadable` and `changed`."""
    found: Counter[str] = Counter()
    async for row in _rows(database, sealed):
        stored = {name: row[name] for name in sealed.fields if row.get(name)}
        try:
            opened = {name: sealed.box.open(row["_id"], text) for name, text in stored.items()}
        except UnreadableSecret:
            found["unreadable"] += 1
            continue
        converted = {name: convert(row["_id"], text) for name, text in opened.items()}
        collection = database[sealed.collection]
        found[await _replace(collection, row["_id"], stored, converted)] += 1
    return found


def _rows(database: Database, sealed: SealedFields) -> AsyncIterable[Mapping[str, Any]]:
    having: Any = {"$or": [{name: {"$type": "string"}} for name in sealed.fields]}
    rows: AsyncIterable[Mapping[str, Any]] = database[sealed.collection].find(having, sealed.fields)
    return rows


async def _replace(
    collection: Collection, document_id: UUID, stored: dict[str, str], converted: dict[str, Any]
) -> str:
    unchanged = {"_id": document_id, **stored}
    done = await collection.update_one(unchanged, {"$set": converted})
    return "rewritten" if done.matched_count else "changed"


def _form(box: SecretBox, document_id: UUID, text: str) -> str:
    if not text.startswith(PREFIX):
        return "plain"
    if box.is_sealed_with_first_key(document_id, text):
        return "key"
    try:
        box.open(document_id, text)
    except UnreadableSecret:
        return "unreadable"
    return "older_key"
