"""How a domain begins to ignore case: first all its links get folded names, then visits use them.

So no visit is lost meanwhile. After a crash it is simply done again.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final
from uuid import UUID

from tracker.errors import BadRequest, ErrorCode
from tracker.links.counts.counts import conflict_with_creations
from tracker.links.names.names import names_of
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import run_updates
from tracker.stores.mongodb.transaction import MongoSession, run_in_transaction

PIECE_LINKS: Final = 500
MAX_COLLISIONS: Final = 20

_Row = Mapping[str, Any]


class Folding:
    """Gives the links of a domain their folded names."""

    def __init__(self, mongodb: MongoDB) -> None:
        self._database = mongodb.database
        self._links = mongodb["links"]

    async def fold(self, account_id: UUID, domain_id: UUID) -> None:
        """Raises BadRequest that names links which only case tells apart, if there are any."""
        await self._set_folds(account_id, domain_id, True)
        collisions: list[str] = []
        last: str | None = ""
        while last is not None and len(collisions) < MAX_COLLISIONS:
            piece = partial(self._fold_piece, domain_id, last)
            last, found = await run_in_transaction(self._database, piece)
            collisions += found
        if collisions:
            await self._set_folds(account_id, domain_id, False)
            listed = "; ".join(collisions[:MAX_COLLISIONS])
            message = f"case_sensitive: only case tells these apart: {listed}"
            raise BadRequest(message, code=ErrorCode.ALREADY_TAKEN)

    async def _set_folds(self, account_id: UUID, domain_id: UUID, folds: bool) -> None:
        """Have links that are created from now on get folded names, or not.

        A domain that ignores case by now, by another request, keeps them.
        """
        wanted = {"_id": domain_id, "case_sensitive": {"$ne": False}}
        update = {"$set": {"folds": folds}, "$inc": {"version": 1}}

        async def work(session: MongoSession) -> None:
            domains = self._database["domains"]
            await domains.update_one(wanted, update, session=session)
            await conflict_with_creations(self._database, account_id, session)

        await run_in_transaction(self._database, work)

    async def _fold_piece(
        self, domain_id: UUID, after: str, session: MongoSession
    ) -> tuple[str | None, Sequence[str]]:
        """Fold the names of links with slugs after one; return the last, and what collides."""
        wanted = {"domain_id": domain_id, "slug": {"$gt": after}}
        found = self._links.find(wanted, ["slug", "paths", "names"], session=session)
        rows = await found.sort("slug").limit(PIECE_LINKS).to_list(PIECE_LINKS)
        names = [names_of(row["slug"], row.get("paths", ()), folds=True) for row in rows]
        all_folded = [name for own in names for name in own if name.startswith("/")]
        holding = {"domain_id": domain_id, "names": {"$in": all_folded}}
        holders: dict[str, _Row] = {}
        async for row in self._links.find(holding, ["slug", "names"], session=session):
            holders |= dict.fromkeys(row["names"], row)
        collisions, updates = [], []
        for row, own in zip(rows, names, strict=True):
            kept = [holders.setdefault(name, row) for name in own if name.startswith("/")]
            others = [one["slug"] for one in kept if one["_id"] != row["_id"]]
            if others:
                collisions.append(f"{row['slug']} and {others[0]}")
            elif own != row.get("names"):
                updates.append({"q": {"_id": row["_id"]}, "u": {"$set": {"names": own}}})
        await run_updates(self._database, "links", updates, session)
        return (rows[-1]["slug"] if len(rows) == PIECE_LINKS else None), collisions
