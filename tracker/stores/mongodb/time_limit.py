"""The errors of MongoDB that are time limits: it answers, but not soon enough.

A search that examines too much is one, a server that hangs is not. The driver's error is often the
same for both, so MongoDB is asked whether it answers.
"""

from types import TracebackType
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


class TimeLimits:
    """A context that tells too long operations from a MongoDB that hangs.

    It raises ExecutionTimeout for the former, and AutoReconnect for the latter. It is a class
    because every request to the API has one: a generator takes five times as long.
    """

    __slots__ = ("_database",)

    def __init__(self, database: Database) -> None:
        self._database = database

    async def __aenter__(self) -> None:
        pass

    async def __aexit__(
        self,
        _: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not isinstance(error, PyMongoError) or not error.timeout:
            return
        if isinstance(error, ServerSelectionTimeoutError):
            return
        if not await _answers(self._database):
            raise AutoReconnect("MongoDB does not answer") from error
        if isinstance(error, ConnectionFailure):
            raise ExecutionTimeout(str(error), _MAX_TIME_EXPIRED) from error


async def _answers(database: Database) -> bool:
    try:
        with pymongo.timeout(_ANSWER_SECONDS):
            await database.command("hello")
    except PyMongoError:
        return False
    return True
