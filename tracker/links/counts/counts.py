"""Kept counts: an account's links by state, in all and of each tag.

Every change of links adds its difference in its own transaction. So the counts equal the links at
every moment, once `recount` has completed them; until then the links themselves are counted.
"""

import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol
from uuid import UUID

from tracker.stores.mongodb.documents import run_updates, with_stored_ids
from tracker.stores.mongodb.drivers import Database
from tracker.stores.mongodb.reads import MongoReads
from tracker.stores.mongodb.transaction import MongoSession

LINK_COUNTS: Final = "link_counts"

PARTS: Final = 32
"""The documents of a count. A change adds to one of them, so that simultaneous changes of an
account seldom conflict. With one, 69 of a hundred creations at once were not done after 5 s."""

_parts = itertools.count(random.randrange(PARTS))  # noqa: S311
"""Round robin from a random start, so that simultaneous transactions seldom share a part."""

OF_RECOUNTS: Final = 0
"""The part that only recounts write, so that no creation delays them."""


class Counted(Protocol):
    """The fields of a link that are counted."""

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


KeptCounts = Mapping[UUID | None, LinkCount]
"""The counts of tags, and of all links as of None."""

Differences = Mapping[CountKey, Mapping[str, int]]
"""Numbers to add, by key and state."""

_RECOUNTS: Final = "recounts"
_SUMMED: Final = (*LinkCount._fields, _RECOUNTS)


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
    """Add to one part of each count: the next one, unless it is given."""
    part = 1 + next(_parts) % PARTS if part is None else part
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

    async def find(self, account_id: UUID, tag_ids: Collection[UUID] = ()) -> KeptCounts | None:
        """Return the counts; None if those of the account are not complete yet."""
        stages = [_of_tags(account_id, tag_ids), summed({"tag_id": "$_id.tag_id"})]
        reads = self._reads.with_binary_ids()
        rows = await reads.aggregate(LINK_COUNTS, stages, at_most=1 + len(tag_ids))
        return kept_counts(rows, tag_ids)


def stages_of_parts(account_id: UUID, tag_ids: Collection[UUID]) -> list[Mapping[str, Any]]:
    """Return the stages that find the parts of counts, at most `rows_of_parts(tag_ids)` rows.

    To add the parts up takes MongoDB 0.2 ms, to return those of one count 0.03.
    """
    unread = ("_id.account_id", "_id.part") if tag_ids else ("_id",)
    return [_of_tags(account_id, tag_ids), {"$project": dict.fromkeys(unread, 0)}]


def rows_of_parts(tag_ids: Collection[UUID]) -> int:
    return (1 + PARTS) * (1 + len(tag_ids))


def _of_tags(account_id: UUID, tag_ids: Collection[UUID]) -> Mapping[str, Any]:
    of_tags = {"_id.account_id": account_id, "_id.tag_id": {"$in": [None, *tag_ids]}}
    return {"$match": with_stored_ids(of_tags)}


def kept_counts(rows: Iterable[Mapping[str, Any]], tag_ids: Collection[UUID]) -> KeptCounts | None:
    """Return the counts in rows with `Binary` ids; None if they are not complete yet.

    Each row is a part of a count, or a whole one.
    """
    found = {one and one.bytes: dict.fromkeys(_SUMMED, 0) for one in (None, *tag_ids)}
    for row in rows:
        tag_id = row["_id"]["tag_id"] if tag_ids else None
        sums = found[tag_id and bytes(tag_id)]
        for name, number in row.items():
            if name in sums:
                sums[name] += number
    if not any(sums[_RECOUNTS] for sums in found.values()):
        return None
    return {one: count_of(found[one and one.bytes]) for one in (None, *tag_ids)}


def summed(key: Any) -> Mapping[str, Any]:
    """Return the stage that adds up the parts of each count."""
    return {"$group": {"_id": key, **{name: {"$sum": f"${name}"} for name in _SUMMED}}}


def count_of(row: Mapping[str, Any]) -> LinkCount:
    return LinkCount(*(row[name] for name in LinkCount._fields))
