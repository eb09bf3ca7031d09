"""The rules and variants that links have, or once had, in MongoDB.

They stay as long as the link: clicks name them by id, and reports show their names. A variant that
comes back is drawn by the same secret. They are written in the transaction of their link.
"""

from collections.abc import Iterator, Sequence
from typing import Literal
from uuid import UUID

import msgspec

from tracker.links.link import Link
from tracker.links.rules.rule import Deciding
from tracker.stores.mongodb.documents import as_document, as_struct, run_updates
from tracker.stores.mongodb.drivers import Database
from tracker.stores.mongodb.reads import MongoReads
from tracker.stores.mongodb.transaction import MongoSession

COLLECTION = "choices"
ChoiceKind = Literal["rule", "variant"]


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """A rule or a variant. `secret` is of the split that a variant is, or was last, part of."""

    id: UUID
    account_id: UUID
    link_id: UUID
    kind: ChoiceKind
    name: str
    secret: str | None = None


async def find_choices(reads: MongoReads, link_id: UUID) -> dict[UUID, Choice]:
    rows = await reads.find(COLLECTION, {"link_id": link_id})
    return {row["_id"]: as_struct(Choice, row) for row in rows}


async def keep_choices(database: Database, links: Sequence[Link], session: MongoSession) -> None:
    """Store the rules and variants of links, and that their accounts have such links."""
    deciding = [link for link in links if link.rules or link.split]
    rows = [as_document(one) for link in deciding for one in _choices(link)]
    updates = [
        {"q": {"_id": row["_id"], "link_id": row["link_id"]}, "u": {"$set": row}, "upsert": True}
        for row in rows
    ]
    await run_updates(database, COLLECTION, updates, session)
    for account_id in {link.account_id for link in deciding}:
        first = {"_id": account_id, "decides": {"$ne": True}}
        set_once = {"$set": {"decides": True}}
        await database["accounts"].update_one(first, set_once, session=session)


def _choices(link: Link) -> Iterator[Choice]:
    for rule in link.rules:
        yield _choice(link, rule.id, "rule", rule.name)
    for _, split in Deciding(rules=link.rules, split=link.split).splits():
        for one in split.variants:
            yield _choice(link, one.id, "variant", one.name, split.secret)


def _choice(
    link: Link, choice_id: UUID, kind: ChoiceKind, name: str, secret: str | None = None
) -> Choice:
    return Choice(
        id=choice_id,
        account_id=link.account_id,
        link_id=link.id,
        kind=kind,
        name=name,
        secret=secret,
    )
