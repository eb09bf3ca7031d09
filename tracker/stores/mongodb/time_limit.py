"""The errors of MongoDB that are time limits: it answers, but not soon enough.

A search that examines too much is one, a server that hangs is not. The driver's error is often the
same for both, so MongoDB is asked whether it answers.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import pymongo
from pymongo.errors import (
    AutoReconnect,
    ConnectionFailure,
    ExecutionTimeout,
    PyMongoError,
    ServerSelectionTimeoutError,
)

from tracker.stores.mongodb.drivers import Database

_ANSWER_SECONDS: Final = 2.0
"""MongoDB may be busy."""

_MAX_TIME_EXPIRED: Final = 50


def is_time_limit(error: BaseException | None) -> bool:
    return (
        isinstance(error, PyMongoError)
        and error.timeout
        and not isinstance(error, ConnectionFailure)
    )


@asynccontextmanager
async def distinguish_time_limits(database: Database) -> AsyncIterator[None]:
    """Raises ExecutionTimeout after too long an operation, AutoReconnect if MongoDB hangs."""
    try:
        yield
    except PyMongoError as error:
        if not error.timeout or isinstance(error, ServerSelectionTimeoutError):
            raise
        if not await _answers(database):
            raise AutoReconnect("MongoDB does not answer") from error
        if isinstance(error, ConnectionFailure):
            raise ExecutionTimeout(str(error), _MAX_TIME_EXPIRED) from error
        raise


async def _answers(database: Database) -> bool:
    try:
        with pymongo.timeout(_ANSWER_SECONDS):
            await database.command("hello")
    except PyMongoError:
        return False
    return True
