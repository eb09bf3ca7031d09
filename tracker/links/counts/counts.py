"""Kept counts: an account's links by state, in all and of each tag.

Every change of links adds its difference in its own transaction. So the counts equal the links at
every moment, once `recount` has completed them; until then the links themselves are counted.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol
from uuid import UUID

from tracker.stores.mongodb.documents import run_updates
from tracker.stores.mongodb.drivers import Database
from tracker.stores.mongodb.reads import MongoReads
from tracker.stores.mongodb.transaction import MongoSession

LINK_COUNTS: Final = "link_counts"

PARTS: Final = 16
"""The documents of a count. A change adds to one of them, which it draws, so that simultaneous
changes of an account seldom conflict. A hundred creations at once take 1 s. With one part, 69 of
them were not done after 5 s."""

OF_RECOUNTS: Final = 0
"""The part that only recounts write, so that no creation delays them."""


class Counted(Protocol):
    """A link, or as much of it as is counted."""

    @property
    def account_id(self) -> UUID: ...
    @property
    def tags(self) -> Sequence[UUID]: ...
    @property
    def active(self) -> bool: ...
    @property
    def archived(self) -> bool: ...


class CountKey(NamedTuple):
    """What is counted: the links of an account with a tag, or all of them."""

    account_id: UUID
    tag_id: UUID | None


class LinkCount(NamedTuple):
    """A number of links by state."""

    active: int = 0
    inactive: int = 0
    archived_active: int = 0
    archived_inactive: int = 0

    def of(self, archived: bool, active: bool | None = None) -> int:
        """Return the number of archived links or of the others, active and inactive by default."""
        by_state = self[2:] if archived else self[:2]
        return sum(by_state) if active is None else by_state[not active]


Differences = Mapping[CountKey, Mapping[str, int]]
"""Numbers to add, by key and state."""


def state_of(archived: bool, active: bool) -> str:
    return LinkCount._fields[2 * archived + (not active)]


def difference(before: Iterable[Counted], after: Iterable[Counted]) -> Differences:
    """Return what changes in the counts if the links `before` become those `after`."""
    found: defaultdict[CountKey, Counter[str]] = defaultdict(Counter)
    for sign, links in ((-1, before), (1, after)):
        for link in links:
            for tag_id in (None, *set(link.tags)):
                key = CountKey(link.account_id, tag_id)
                found[key][state_of(link.archived, link.active)] += sign
    changes = {key: {name: n for name, n in one.items() if n} for key, one in found.items()}
    return {key: one for key, one in changes.items() if one}


async def add(
    database: Database, changes: Differences, session: MongoSession, part: int | None = None
) -> None:
    """Add to one part of each count, which is drawn unless it is given."""
    part = random.randint(1, PARTS) if part is None else part  # noqa: S311
    updates = [
        {"q": {"_id": count_id(key, part)}, "u": {"$inc": one}, "upsert": True}
        for key, one in changes.items()
    ]
    await run_updates(database, LINK_COUNTS, updates, session)


def count_id(key: CountKey, part: int) -> dict[str, Any]:
    return {**key._asdict(), "part": part}


class LinkCounts:
    """The kept counts, for lists."""

    def __init__(self, reads: MongoReads) -> None:
        self._reads = reads

    async def find(
        self, account_id: UUID, tag_ids: Collection[UUID] = ()
    ) -> Mapping[UUID | None, LinkCount] | None:
        """Return the counts of tags, and those of all links as of None.

        Return None if the account's counts are not complete yet.
        """
        of_tags = {"_id.account_id": account_id, "_id.tag_id": {"$in": [None, *tag_ids]}}
        stages = [{"$match": of_tags}, summed("$_id.tag_id")]
        rows = await self._reads.aggregate(LINK_COUNTS, stages)
        if not any(row["recounts"] for row in rows):
            return None
        found = {row["_id"]: count_of(row) for row in rows}
        return {tag_id: found.get(tag_id, LinkCount()) for tag_id in (None, *tag_ids)}


def summed(key: str) -> Mapping[str, Any]:
    """Return the stage that adds up the parts of each count."""
    sums = {name: {"$sum": f"${name}"} for name in (*LinkCount._fields, "recounts")}
    return {"$group": {"_id": key, **sums}}


def count_of(row: Mapping[str, Any]) -> LinkCount:
    return LinkCount(*(row[name] for name in LinkCount._fields))
