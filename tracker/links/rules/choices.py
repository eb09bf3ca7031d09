"""The rules and variants that links have, or once had, in MongoDB.

They stay as long as the link: clicks name them by id, and reports show their names. A variant that
comes back is drawn by the same secret. They are written in the transaction of their link.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final, Literal, Protocol
from uuid import UUID

import msgspec

from tracker.links.rules.rule import DECIDES, Deciding, Rule, Split
from tracker.stores.mongodb.documents import as_document, run_updates
from tracker.stores.mongodb.drivers import Database
from tracker.stores.mongodb.transaction import MongoSession

COLLECTION: Final = "choices"
_PIECE: Final = 200
"""Choices of one command. Of 6,000, which many links together may have, it holds the loop 0.4 s."""


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


async def keep_choices(
    database: Database, links: Sequence[DecidingLink], session: MongoSession
) -> None:
    """Store the rules and variants of links, and that their accounts have such links."""
    updates: list[dict[str, Any]] = []
    for number, link in enumerate(links, 1):
        updates += map(_update, _choices(link))
        if len(updates) >= _PIECE or number == len(links):
            await run_updates(database, COLLECTION, updates, session)
            updates = []
    for account_id in {link.account_id for link in links if link.rules or link.split}:
        first = {"_id": account_id, DECIDES: {"$ne": True}}
        decides = {"$set": {DECIDES: True}}
        await database["accounts"].update_one(first, decides, session=session)


def _update(choice: Choice) -> dict[str, Any]:
    same = {"_id": choice.id, "link_id": choice.link_id}
    return {"q": same, "u": {"$set": as_document(choice)}, "upsert": True}


def _choices(link: DecidingLink) -> Iterator[Choice]:
    choice = partial(Choice, account_id=link.account_id, link_id=link.id)
    for rule in link.rules:
        yield choice(id=rule.id, kind="rule", name=rule.name)
    for _, split in Deciding(rules=link.rules, split=link.split).splits():
        for one in split.variants:
            yield choice(id=one.id, kind="variant", name=one.name, secret=split.secret)
