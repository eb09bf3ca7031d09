"""The reading of all rows of an aggregation at once, for figures that need thousands of them."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tracker.db.connect import Collection
from tracker.db.transaction import Session

_ROWS_AT_ONCE: Final = 20_000


async def all_rows(
    collection: Collection, stages: Sequence[Mapping[str, Any]], session: Session
) -> list[dict[str, Any]]:
    """Return what a pipeline yields. Raises PyMongoError if MongoDB does not answer in time."""
    # Motor hands over row by row, in the event loop: the driver below it takes half as long.
    return await asyncio.to_thread(
        lambda: collection.delegate.aggregate(
            list(stages),
            session=session.delegate,
            allowDiskUse=True,
            batchSize=_ROWS_AT_ONCE,
        ).to_list()
    )
