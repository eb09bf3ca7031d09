"""Recounts of links: complete the kept counts of an account, compare and correct them.

A drain recounts each account that was not counted at its creation (`lists/backfill`).
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

import pymongo

from tracker.links.counts.counts import (
    LINK_COUNTS,
    OF_RECOUNTS,
    CountKey,
    LinkCount,
    add,
    count_id,
    count_of,
    state_of,
    summed,
)
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.drivers import UNLIMITED, Database
from tracker.stores.mongodb.reads import MongoReads
from tracker.stores.mongodb.transaction import MongoSession, run_in_transaction


class Comparison(NamedTuple):
    """The numbers that are missing in an account's counts, after so many `recounts`."""

    recounts: int
    missing: Mapping[UUID | None, Mapping[str, int]]


async def complete_at_creation(database: Database, account_id: UUID, session: MongoSession) -> None:
    """Complete the counts of an account that is created in this transaction, without links."""
    complete = {"_id": _own(account_id), "recounts": 1}
    await database[LINK_COUNTS].insert_one(complete, session=session)


class LinkRecount:
    """Compares and corrects the counts of accounts."""

    def __init__(self, mongodb: MongoDB) -> None:
        self._database = mongodb.database
        self._reads = mongodb.reads

    async def unfinished(self) -> Sequence[UUID]:
        """Return the accounts with links whose counts are not complete."""
        with pymongo.timeout(UNLIMITED):
            rows = await self._reads.find(LINK_COUNTS, {"recounts": {"$gte": 1}}, ["_id"])
        counted = {row["_id"]["account_id"] for row in rows}
        return [one for one in await self.accounts() if one not in counted]

    async def accounts(self) -> Sequence[UUID]:
        """Return the accounts that have links."""
        with pymongo.timeout(UNLIMITED):
            rows = await self._reads.aggregate("links", [{"$group": {"_id": "$account_id"}}])
        return sorted(row["_id"] for row in rows)

    async def compare(self, account_id: UUID) -> Comparison:
        """Compare an account's counts with its links, in one snapshot."""
        with pymongo.timeout(UNLIMITED):
            async with self._reads.at_one_snapshot() as snapshot:
                recounts, kept = await _kept(snapshot, account_id)
                counted = await _counted(snapshot, account_id)
        missing = {tag_id: _missing(kept[tag_id], counted[tag_id]) for tag_id in {*kept, *counted}}
        return Comparison(recounts, {tag_id: one for tag_id, one in missing.items() if one})

    async def correct(self, account_id: UUID) -> int:
        """Correct an account's counts and complete them; return how many numbers were wrong.

        Links may change meanwhile: their transactions add to both sides of the comparison.
        Simultaneous corrections never add a difference twice, because each numbers itself.
        """
        while True:
            found = await self.compare(account_id)
            if await self._add(account_id, found):
                return sum(map(len, found.missing.values()))

    async def _add(self, account_id: UUID, found: Comparison) -> bool:
        """Add what is missing. Return False if another correction was first."""
        own = {"_id": _own(account_id)}
        missing = {
            CountKey(account_id, tag_id): numbers for tag_id, numbers in found.missing.items()
        }
        number = {"$inc": {"recounts": 1}}

        async def work(session: MongoSession) -> bool:
            counts = self._database[LINK_COUNTS]
            last = await counts.find_one(own, session=session) or {}
            if last.get("recounts", 0) != found.recounts:
                return False
            await counts.update_one(own, number, upsert=True, session=session)
            await add(self._database, missing, session, OF_RECOUNTS)
            return True

        return await run_in_transaction(self._database, work)


def _own(account_id: UUID) -> dict[str, Any]:
    """Return the id of the document with the number of recounts."""
    return count_id(CountKey(account_id, None), OF_RECOUNTS)


def _missing(kept: LinkCount, counted: LinkCount) -> dict[str, int]:
    both = zip(LinkCount._fields, kept, counted, strict=True)
    return {name: number - had for name, had, number in both if number != had}


Counts = defaultdict[UUID | None, LinkCount]


async def _kept(snapshot: MongoReads, account_id: UUID) -> tuple[int, Counts]:
    """Return how often the account was recounted, and its kept counts."""
    stages = [{"$match": {"_id.account_id": account_id}}, summed("$_id.tag_id")]
    rows = await snapshot.aggregate(LINK_COUNTS, stages)
    kept = Counts(LinkCount, {row["_id"]: count_of(row) for row in rows})
    return sum(row["recounts"] for row in rows), kept


async def _counted(snapshot: MongoReads, account_id: UUID) -> Counts:
    """Count the account's links. A million take 20 s on a busy machine."""
    keys = {"$concatArrays": [[None], {"$setUnion": ["$tags"]}]}
    stages: list[dict[str, Any]] = [
        {"$match": {"account_id": account_id}},
        {"$project": {"_id": 0, "key": keys, "archived": 1, "active": 1}},
        {"$unwind": "$key"},
        {"$group": {"_id": ["$key", "$archived", "$active"], "links": {"$sum": 1}}},
    ]
    found = Counts(LinkCount)
    for row in await snapshot.aggregate("links", stages):
        tag_id, archived, active = row["_id"]
        state = {state_of(archived, active): row["links"]}
        found[tag_id] = found[tag_id]._replace(**state)
    return found
