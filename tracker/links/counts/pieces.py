"""A change of all links that match, in pieces, each in one transaction with the kept counts."""

from collections.abc import Callable, Mapping
from typing import Any, Final
from uuid import UUID

import msgspec

from tracker.links.counts.counts import add, difference
from tracker.stores.mongodb.documents import as_struct
from tracker.stores.mongodb.drivers import Database
from tracker.stores.mongodb.transaction import MongoSession, run_in_transaction

PIECE_LINKS: Final = 500


class CountedLink(msgspec.Struct, frozen=True):
    """The fields of a link that are counted."""

    account_id: UUID
    tags: list[UUID]
    active: bool
    archived: bool


async def change_in_pieces(
    database: Database,
    matching: Mapping[str, Any],
    update: Mapping[str, Any],
    changed: Callable[[CountedLink], CountedLink],
) -> None:
    """Apply `update`, which does as `changed` and leaves nothing that matches."""

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
