"""The reading of rollups as a table of counts."""

from typing import Any, Final

from tracker.db.reader import Reader
from tracker.reports.columns import Columns
from tracker.reports.pipelines import RollupQuery, is_of_each_link, stages_of, table_of
from tracker.reports.threads import in_thread_if_large

_ROLLUPS_AT_ONCE: Final = 100
"""Rollups of a batch that come with their cells: 50 cells take 65 µs to decode."""


async def rollup_table(reader: Reader, query: RollupQuery) -> Columns:
    """Return what a query of rollups adds up. Raises PyMongoError if MongoDB does not answer."""
    batches: dict[str, Any] = {"batchSize": _ROLLUPS_AT_ONCE} if is_of_each_link(query) else {}
    rows = await reader.aggregate("rollups", stages_of(query), **batches)
    return await in_thread_if_large(len(rows), table_of, query, rows)
