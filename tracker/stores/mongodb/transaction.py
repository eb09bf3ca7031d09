"""Work in one MongoDB transaction: all of it is stored, by a majority and on disk, or none.

Only conflicts are tried again, for RETRY_SECONDS. The driver would retry for two minutes.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from pymongo import WriteConcern
from pymongo.errors import OperationFailure
from pymongo.read_concern import ReadConcern

from tracker.stores.mongodb import drivers
from tracker.stores.mongodb.drivers import Database

RETRY_SECONDS: Final = 5.0

_MAX_PAUSE_SECONDS: Final = 0.02
"""The pause before a retry is random, so that two transactions do not keep step."""

_SNAPSHOT: Final = ReadConcern("snapshot")
_DURABLE: Final = WriteConcern("majority", j=True)

MongoSession = drivers.MongoSession
Result = TypeVar("Result")


async def in_transaction(
    session: MongoSession, work: Callable[[MongoSession], Awaitable[Result]]
) -> Result:
    """Run `work`, maybe more than once, so it must leave nothing in memory.

    If it raises, nothing is stored. If the commit fails, everything may be stored: check before
    another try.
    """
    deadline = time.monotonic() + RETRY_SECONDS
    while True:
        try:
            async with session.start_transaction(_SNAPSHOT, _DURABLE):
                return await work(session)
        except OperationFailure as error:
            if not is_conflict(error) or time.monotonic() > deadline:
                raise
        await asyncio.sleep(random.uniform(0, _MAX_PAUSE_SECONDS))  # noqa: S311


async def run_in_transaction(
    database: Database, work: Callable[[MongoSession], Awaitable[Result]]
) -> Result:
    async with await database.client.start_session() as session:
        return await in_transaction(session, work)


def is_conflict(error: OperationFailure) -> bool:
    """Return whether a transaction failed because of another, and may be tried again."""
    return error.has_error_label("TransientTransactionError")
