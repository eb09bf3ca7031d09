"""The queries that MongoDB has answered, from its profiler."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tracker.stores.mongodb.drivers import Database


@asynccontextmanager
async def profiled(database: Database) -> AsyncIterator[list[dict[str, Any]]]:
    """Yield a list that has the profiler's rows once the block has ended."""
    rows: list[dict[str, Any]] = []
    await database.command("profile", 0)
    await database.drop_collection("system.profile")
    await database.command("profile", 2, filter="unset")
    try:
        yield rows
    finally:
        await database.command("profile", 0)
        notes = await database["system.profile"].find().to_list(None)
        await database.drop_collection("system.profile")
        rows += [row for row in notes if not row["ns"].endswith(".system.profile")]
