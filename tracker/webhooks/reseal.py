"""Rewriting of stored signing secrets, encrypted with the first key or plain, for operators.

It may run again, and beside the service, which reads both forms. A record that changes meanwhile
is left to the next run.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any
from uuid import UUID

from tracker.db.connect import Database
from tracker.webhooks.secret_box import PREFIX, SecretBox, UnreadableSecret

_FIELDS = ("secret", "previous_secret")


async def count_secrets(database: Database, box: SecretBox) -> Counter[str]:
    """Return the number of stored secrets by form.

    The forms are `plain`, `key` and `older_key` (encrypted with the first or another key), and
    `unreadable` with all keys. Raises PyMongoError if MongoDB fails.
    """
    found: Counter[str] = Counter()
    async for row in database["webhooks"].find({}, _FIELDS):
        found.update(_form(box, row["_id"], row[name]) for name in _FIELDS if row.get(name))
    return found


async def rewrite_secrets(
    database: Database, box: SecretBox, convert: Callable[[UUID, str], str]
) -> Counter[str]:
    """Rewrite each secret in the form that `convert` returns for the webhook's id and the secret.

    Return how many webhooks were `rewritten`, `unreadable`, or `changed` meanwhile. Raises
    PyMongoError if MongoDB fails.
    """
    found: Counter[str] = Counter()
    async for row in database["webhooks"].find({}, _FIELDS):
        stored = {name: row[name] for name in _FIELDS if row.get(name)}
        try:
            opened = {name: box.open(row["_id"], text) for name, text in stored.items()}
        except UnreadableSecret:
            found["unreadable"] += 1
            continue
        converted = {name: convert(row["_id"], text) for name, text in opened.items()}
        found[await _replace(database, row["_id"], stored, converted)] += 1
    return found


async def _replace(
    database: Database, webhook_id: UUID, stored: dict[str, str], converted: dict[str, Any]
) -> str:
    unchanged = {"_id": webhook_id, **stored}
    done = await database["webhooks"].update_one(unchanged, {"$set": converted})
    return "rewritten" if done.matched_count else "changed"


def _form(box: SecretBox, webhook_id: UUID, text: str) -> str:
    if not text.startswith(PREFIX):
        return "plain"
    if box.is_sealed_with_first_key(webhook_id, text):
        return "key"
    try:
        box.open(webhook_id, text)
    except UnreadableSecret:
        return "unreadable"
    return "older_key"
