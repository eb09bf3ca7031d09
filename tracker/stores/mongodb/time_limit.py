"""Which errors of MongoDB are limits of time: it answers, but not soon enough.

A search that examines too much is one. A server that hangs, or that nobody can reach, is not. The
driver's own error is often the same for both, so MongoDB is asked whether it answers.
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
"""How long MongoDB may take to say that it is there: it may be busy."""

_MAX_TIME_EXPIRED: Final = 50
"""MongoDB's code of an operation that took too long."""


def is_time_limit(error: BaseException | None) -> bool:
    """Return whether an operation took longer than it may, as `told_apart` tells."""
    return (
        isinstance(error, PyMongoError)
        and error.timeout
        and not isinstance(error, ConnectionFailure)
    )


@asynccontextmanager
async def told_apart(database: Database) -> AsyncIterator[None]:
    """Tell operations that took too long from a MongoDB that does not answer.

    Raises ExecutionTimeout for the former, AutoReconnect for the latter.
    """
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
