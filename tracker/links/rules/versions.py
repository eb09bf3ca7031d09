"""Earlier rules and splits of links in MongoDB: what a change has replaced, for an undo."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from tracker.access.principal import Actor
from tracker.clock import now
from tracker.ids import new_id
from tracker.links.rules.choices import COLLECTION as CHOICES
from tracker.links.rules.choices import Choice, DecidingLink, change_choices
from tracker.links.rules.identity import Known
from tracker.links.rules.rule import Deciding, Rule, Split
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import as_document, as_struct
from tracker.stores.mongodb.drivers import Database
from tracker.stores.mongodb.paging import Pages
from tracker.stores.mongodb.transaction import MongoSession

COLLECTION: Final = "rule_versions"

MAX_VERSIONS: Final = 50
"""The limit for a link. Older ones are deleted: 32 KB each."""


class RuleVersion(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a link that `actor` replaced; None: an import did."""

    id: UUID
    account_id: UUID
    link_id: UUID
    version: int
    at: datetime
    actor: Actor | None
    destination_url: str
    rules: list[Rule]
    split: Split | None


class LinkRules:
    """The rules that links once had, in versions and one by one."""

    def __init__(self, mongodb: MongoDB) -> None:
        self._reads = mongodb.reads
        self.versions = Pages(mongodb.reads, COLLECTION, RuleVersion)

    async def find(self, link_id: UUID, version: int) -> RuleVersion | None:
        wanted = {"link_id": link_id, "version": version}
        row = await self._reads.find_one(COLLECTION, wanted)
        return None if row is None else as_struct(RuleVersion, row)

    async def known(self, link: DecidingLink) -> Known:
        """Return the rules and variants that a link has, or once had."""
        rows = await self._reads.find(CHOICES, {"link_id": link.id})
        choices = {row["_id"]: as_struct(Choice, row) for row in rows}
        return Known(choices, Deciding(rules=link.rules, split=link.split))


async def keep_versions(
    database: Database,
    revisions: Sequence[tuple[DecidingLink, DecidingLink]],
    actor: Actor | None,
    session: MongoSession,
) -> None:
    """Store what changes of rules and splits replace, and the rules and variants that come.

    A revision is a link before and after.
    """
    for before, after in revisions:
        if (before.rules, before.split) != (after.rules, after.split):
            await _keep(database, before, actor, session)
            await change_choices(database, before, after, session)


async def _keep(
    database: Database, link: DecidingLink, actor: Actor | None, session: MongoSession
) -> None:
    names = ("account_id", "version", "destination_url", "rules", "split")
    fields = {name: getattr(link, name) for name in names}
    kept = RuleVersion(id=new_id(), link_id=link.id, at=now(), actor=actor, **fields)
    versions, of_link = database[COLLECTION], {"link_id": link.id}
    await versions.insert_one(as_document(kept), session=session)
    rows = versions.find(of_link, ["_id"], session=session).sort("_id", -1)
    async for row in rows.skip(MAX_VERSIONS).limit(1):
        await versions.delete_many({**of_link, "_id": {"$lte": row["_id"]}}, session=session)


async def forget(database: Database, links: Sequence[DecidingLink], session: MongoSession) -> None:
    """Delete the rules, variants and versions of links that are deleted."""
    of_links = {"link_id": {"$in": [link.id for link in links]}}
    for collection in (CHOICES, COLLECTION):
        await database[collection].delete_many(of_links, session=session)
