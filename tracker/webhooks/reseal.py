"""Rewriting of stored signing secrets, encrypted with the first key or plain, for operators.

It may be repeated, and run while the service does: a record that changes meanwhile is left to the
next run. The service reads both forms at any time.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any
from uuid import UUID

from tracker.db.connect import Database
from tracker.webhooks.secret_box import PREFIX, SecretBox, UnreadableSecret

_FIELDS = ("secret", "previous_secret")


async def count_secrets(database: Database, box: SecretBox) -> Counter[str]:
    """Return how many secrets are stored in each form.

    The forms are `plain`, encrypted with the first `key` or an `older_key`, and `unreadable` with
    the keys that are set. Raises PyMongoError if MongoDB fails.
    """
    found: Counter[str] = Counter()
    async for row in database["webhooks"].find({}, _FIELDS):
        found.update(_form(box, row["_id"], row[name]) for name in _FIELDS if row.get(name))
    return found


async def rewrite_secrets(
    database: Database, box: SecretBox, stored: Callable[[UUID, str], str]
) -> Counter[str]:
    """Store each secret as `stored` returns it for its webhook and text.

    Return how many webhooks were `rewritten`, `unreadable`, or `changed` meanwhile. Raises
    PyMongoError if MongoDB fails.
    """
    found: Counter[str] = Counter()
    async for row in database["webhooks"].find({}, _FIELDS):
        there = {name: row[name] for name in _FIELDS if row.get(name)}
        try:
            opened = {name: box.open(row["_id"], text) for name, text in there.items()}
        except UnreadableSecret:
            found["unreadable"] += 1
            continue
        wanted = {name: stored(row["_id"], text) for name, text in opened.items()}
        found[await _replaced(database, row["_id"], there, wanted)] += 1
    return found


async def _replaced(
    database: Database, webhook_id: UUID, there: dict[str, str], wanted: dict[str, Any]
) -> str:
    done = await database["webhooks"].update_one({"_id": webhook_id, **there}, {"$set": wanted})
    return "rewritten" if done.matched_count else "changed"


def _form(box: SecretBox, webhook_id: UUID, text: str) -> str:
    if not text.startswith(PREFIX):
        return "plain"
    if box.is_by_first_key(webhook_id, text):
        return "key"
    try:
        box.open(webhook_id, text)
    except UnreadableSecret:
        return "unreadable"
    return "older_key"
