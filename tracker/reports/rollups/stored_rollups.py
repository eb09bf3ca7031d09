"""The rollups of a drain that are stored already. New ones are inserted, at a third of the cost.

Only drains with one number write the same documents. So a drain remembers the ids that it has seen
stored, and asks MongoDB for the rest. After many misses in succession, as on a day that has just
begun, it inserts the rest unasked. Both may be wrong: an upsert inserts a missing document, and the
insert of a stored one is a duplicate key, with which the transaction stores nothing.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from tracker.reports.rollups.upsert import Upsert
from tracker.stores.mongodb.reads import MongoReads

_MAX_REMEMBERED: Final = 100_000
"""Documents in memory, of two generations each: 16 MB together."""

_STATEMENTS_PER_TURN: Final = 1000
"""Statements of one query, and of one turn of the event loop: 3 to 8 µs each."""

LOOKED_UP_IN_VAIN: Final = 2000
"""Documents that were not stored, in succession, after which no more are looked up. A look-up takes
MongoDB 5 to 11 µs and the drain 3, an insert 10 and 4."""

Statement = Mapping[str, Any]


class RollupWrites(NamedTuple):
    """Documents to insert, and statements of the `update` command.

    `hashes` has a hash of every id. `is_guess`: not all of the inserts were looked up.
    """

    inserts: list[dict[str, Any]]
    updates: list[Statement]
    hashes: list[int]
    is_guess: bool


class StoredRollups:
    """The documents that one drain knows to be stored, by the hashes of their ids."""

    def __init__(self, reads: MongoReads, max_remembered: int = _MAX_REMEMBERED) -> None:
        self._max_remembered = max_remembered
        self._reads = reads.with_binary_ids()
        self._recent: set[int] = set()
        self._earlier: set[int] = set()
        self._needed_in_vain = LOOKED_UP_IN_VAIN
        self._in_vain = 0

    async def writes(self, upserts: Sequence[Upsert]) -> RollupWrites:
        """Return the `upserts`, as inserts where the document is not stored."""
        inserts: list[dict[str, Any]] = []
        updates: list[Statement] = []
        hashes: list[int] = []
        is_guess = False
        for start in range(0, len(upserts), _STATEMENTS_PER_TURN):
            unknown: list[tuple[int, Upsert]] = []
            for one in upserts[start : start + _STATEMENTS_PER_TURN]:
                number = _hash(one.id.values())
                hashes.append(number)
                if number in self._recent or number in self._earlier:
                    updates.append(one.statement())
                else:
                    unknown.append((number, one))
            stored: set[int] = set()
            if self._in_vain >= self._needed_in_vain:
                is_guess = is_guess or bool(unknown)
            else:
                stored = await self._stored([one.id for _, one in unknown])
                self._in_vain = 0 if stored else self._in_vain + len(unknown)
            for number, one in unknown:
                if number in stored:
                    updates.append(one.statement())
                else:
                    inserts.append(one.document())
            await asyncio.sleep(0)
        return RollupWrites(inserts, updates, hashes, is_guess)

    def remember(self, writes: RollupWrites) -> None:
        """Take the documents of `writes` for stored, be it by this drain or another."""
        self._recent.update(writes.hashes)
        if len(self._recent) > self._max_remembered:
            self._recent, self._earlier = set(), self._recent

    def refuse(self, writes: RollupWrites) -> None:
        """Take into account that one of the inserts was a duplicate.

        After a wrong guess the documents are looked up, and twice the number before the next guess.
        """
        if writes.is_guess:
            self._in_vain = 0
            self._needed_in_vain *= 2
        else:
            self.remember(writes)

    async def _stored(self, ids: Sequence[Mapping[str, Any]]) -> set[int]:
        """Return the hashes of the ids that MongoDB has."""
        if not ids:
            return set()
        # The accounts are for routers of shards, which would ask each shard for whole ids.
        accounts = {one["account_id"]: None for one in ids}
        matching = {"_id": {"$in": ids}, "_id.account_id": {"$in": list(accounts)}}
        rows = await self._reads.find("rollups", matching, ["_id"], hint="_id_")
        return {_hash(map(_plain, row["_id"].values())) for row in rows}


def _hash(values: Iterable[Any]) -> int:
    return hash(tuple(values))


def _plain(value: Any) -> Any:
    """Return ids as `bytes`, which equal the driver's type of an id in a statement."""
    return bytes(value) if isinstance(value, bytes) else value
