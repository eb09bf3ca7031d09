"""The rules and variants that links have, or once had, in MongoDB.

They stay as long as the link: clicks name them by id, and reports show their names. A variant that
comes back is drawn by the same secret. They are written in the transaction of their link.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, Literal, Protocol
from uuid import UUID

import msgspec

from tracker.links.rules.rule import DECIDES, Deciding, Rule, Split
from tracker.stores.mongodb.documents import as_document, run_inserts, run_updates
from tracker.stores.mongodb.drivers import Database
from tracker.stores.mongodb.transaction import MongoSession

COLLECTION: Final = "choices"
_PIECE: Final = 200
"""Choices of one command. Many links together may have 15,000, and hold the loop for a second."""


class DecidingLink(Protocol):
    """The part of a link that its rules belong to."""

    @property
    def id(self) -> UUID: ...
    @property
    def account_id(self) -> UUID: ...
    @property
    def version(self) -> int: ...
    @property
    def destination_url(self) -> str: ...
    @property
    def rules(self) -> list[Rule]: ...
    @property
    def split(self) -> Split | None: ...


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """A rule or a variant. `secret` is of the split that a variant is, or was last, part of."""

    id: UUID
    account_id: UUID
    link_id: UUID
    kind: Literal["rule", "variant"]
    name: str
    secret: str | None = None


async def add_choices(
    database: Database, links: Sequence[DecidingLink], session: MongoSession
) -> None:
    """Store the rules and variants of new links."""
    rows = [as_document(one) for link in links for one in _choices(link)]
    for start in range(0, len(rows), _PIECE):
        await run_inserts(database, COLLECTION, rows[start : start + _PIECE], session)
    await _mark_accounts(database, rows, session)


async def change_choices(
    database: Database, before: DecidingLink, after: DecidingLink, session: MongoSession
) -> None:
    """Store the rules and variants that are new, or have another name."""
    rows = [as_document(one) for one in {*_choices(after)} - {*_choices(before)}]
    updates = [
        {"q": {"_id": row["_id"], "link_id": after.id}, "u": {"$set": row}, "upsert": True}
        for row in rows
    ]
    await run_updates(database, COLLECTION, updates, session)
    await _mark_accounts(database, rows, session)


async def _mark_accounts(
    database: Database, rows: Sequence[Mapping[str, Any]], session: MongoSession
) -> None:
    """Tell that the accounts have links that decide: reports have more columns for them."""
    for account_id in {row["account_id"] for row in rows}:
        first = {"_id": account_id, DECIDES: {"$ne": True}}
        decides = {"$set": {DECIDES: True}}
        await database["accounts"].update_one(first, decides, session=session)


def _choices(link: DecidingLink) -> Iterator[Choice]:
    choice = partial(Choice, account_id=link.account_id, link_id=link.id)
    for rule in link.rules:
        yield choice(id=rule.id, kind="rule", name=rule.name)
    for _, split in Deciding(rules=link.rules, split=link.split).splits():
        for one in split.variants:
            yield choice(id=one.id, kind="variant", name=one.name, secret=split.secret)
