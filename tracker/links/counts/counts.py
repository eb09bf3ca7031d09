"""Kept counts: an account's links by state, in all and of each tag.

Every change of links adds its difference in its own transaction. So the counts equal the links at
every moment, once `recount` has completed them; until then the links themselves are counted.
"""

import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple, Protocol
from uuid import UUID

import msgspec

from tracker.stores.mongodb.documents import as_struct, run_updates, with_stored_ids
from tracker.stores.mongodb.drivers import Database
from tracker.stores.mongodb.reads import MongoReads
from tracker.stores.mongodb.transaction import MongoSession, run_in_transaction

LINK_COUNTS: Final = "link_counts"

PARTS: Final = 32
"""The documents of a count. A change adds to one of them, so that simultaneous changes of an
account seldom conflict. With one, 69 of a hundred creations at once were not done after 5 s."""

_parts = itertools.count(random.randrange(PARTS))  # noqa: S311
"""Round robin from a random start, so that simultaneous transactions seldom share a part."""

PIECE_LINKS: Final = 500

OF_RECOUNTS: Final = 0
"""The part that only recounts write, so that no creation delays them."""


class Counted(Protocol):
    """The part of a link that is counted."""

    @property
    def account_id(self) -> UUID: ...
    @property
    def tags(self) -> list[UUID]: ...
    @property
    def active(self) -> bool: ...
    @property
    def archived(self) -> bool: ...


class CountedLink(msgspec.Struct, frozen=True, kw_only=True):
    """A link as far as it is counted."""

    account_id: UUID
    tags: list[UUID]
    active: bool = True
    archived: bool = False


class CountKey(NamedTuple):
    """The key of a count: the links of an account with a tag, or all of them."""

    account_id: UUID
    tag_id: UUID | None


class LinkCount(NamedTuple):
    """A number of links by state."""

    active: int = 0
    inactive: int = 0
    archived_active: int = 0
    archived_inactive: int = 0

    def of(self, archived: bool, active: bool | None = None) -> int:
        """Return the number of links, archived or not; active and inactive by default."""
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
    """Return the change of the counts when the links `before` become the links `after`."""
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


async def conflict_with_creations(
    database: Database, account_id: UUID, session: MongoSession
) -> None:
    """Have each creation of links that is under way try again once this transaction is over."""
    updates = [
        {"q": {"_id": one}, "u": {"$inc": {"conflicts": 1}}, "upsert": True}
        for one in (count_id(CountKey(account_id, None), 1 + part) for part in range(PARTS))
    ]
    await run_updates(database, LINK_COUNTS, updates, session)


def count_id(key: CountKey, part: int) -> dict[str, Any]:
    return {**key._asdict(), "part": part}


async def change_in_pieces(
    database: Database,
    matching: Mapping[str, Any],
    update: Mapping[str, Any],
    changed: Callable[[CountedLink], CountedLink],
) -> None:
    """Apply `update`, which does as `changed` and leaves nothing that matches.

    Each piece of the links is changed in one transaction with the kept counts.
    """

    async def change_piece(session: MongoSession) -> bool:
        found = database["links"].find(matching, CountedLink.__struct_fields__, session=session)
        rows = await found.limit(PIECE_LINKS).to_list(PIECE_LINKS)
        if not rows:
            return False
        ids = [row["_id"] for row in rows]
        await database["links"].update_many({"_id": {"$in": ids}}, update, session=session)
        links = [as_struct(CountedLink, row) for row in rows]
        await add(database, difference(links, map(changed, links)), session)
        return len(rows) == PIECE_LINKS

    while await run_in_transaction(database, change_piece):
        pass


async def find_counts(
    reads: MongoReads, account_id: UUID, tag_ids: Collection[UUID] = ()
) -> KeptCounts | None:
    """Return the kept counts; None until the account's counts are complete."""
    stages = count_stages(account_id, tag_ids)
    rows = await reads.with_binary_ids().aggregate(LINK_COUNTS, stages, at_most=1 + len(tag_ids))
    return kept_counts(rows, tag_ids)


def count_stages(account_id: UUID, tag_ids: Collection[UUID]) -> list[Mapping[str, Any]]:
    """Return the stages that find counts: a row for each, at most one more than tags."""
    wanted = {"_id.account_id": account_id, "_id.tag_id": {"$in": [None, *tag_ids]}}
    return [{"$match": with_stored_ids(wanted)}, summed("$_id.tag_id")]


def kept_counts(rows: Iterable[Mapping[str, Any]], tag_ids: Collection[UUID]) -> KeptCounts | None:
    """Return the counts in rows with `Binary` ids; None if they are not complete yet."""
    found = {row["_id"] and UUID(bytes=row["_id"]): row for row in rows}
    if not any(row[_RECOUNTS] for row in found.values()):
        return None
    none = LinkCount()
    return {one: count_of(found[one]) if one in found else none for one in (None, *tag_ids)}


def summed(key: Any) -> Mapping[str, Any]:
    """Return the stage that adds up the parts of each count."""
    return {"$group": {"_id": key, **{name: {"$sum": f"${name}"} for name in _SUMMED}}}


def count_of(row: Mapping[str, Any]) -> LinkCount:
    return LinkCount(*(row[name] for name in LinkCount._fields))
