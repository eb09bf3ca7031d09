"""The reading of rollups as a table of counts."""

import asyncio

from tracker.db.all_rows import all_rows
from tracker.db.connect import Database
from tracker.db.transaction import Session
from tracker.reports.columns import Columns
from tracker.reports.pipelines import RollupQuery, stages_of, table_of


async def rollup_table(database: Database, query: RollupQuery, session: Session) -> Columns:
    """Return what a query of rollups adds up. Raises PyMongoError if MongoDB does not answer."""
    rows = await all_rows(database["rollups"], stages_of(query), session)
    return await asyncio.to_thread(table_of, query, rows)
