"""The reading of all rows of an aggregation at once."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pymongo.collation import Collation

from tracker.db.connect import Collection
from tracker.db.transaction import Session

_ROWS_AT_ONCE: Final = 20_000


async def all_rows(
    collection: Collection,
    stages: Sequence[Mapping[str, Any]],
    session: Session | None = None,
    collation: Collation | None = None,
) -> list[dict[str, Any]]:
    """Return what a pipeline yields. Raises PyMongoError if MongoDB does not answer in time."""
    # Motor hands over row by row, in the event loop: the driver below it takes half as long.
    return await asyncio.to_thread(
        lambda: collection.delegate.aggregate(
            list(stages),
            session=None if session is None else session.delegate,
            collation=collation,
            allowDiskUse=True,
            batchSize=_ROWS_AT_ONCE,
        ).to_list()
    )
