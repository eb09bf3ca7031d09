"""Drains that die, by an exception, at the step that a test names.

A step is before and after each write of a transaction, and before and after each part of what a
drain does with a batch; after a part that posts is after a commit.
"""

import copy
from collections.abc import Awaitable, Callable
from typing import Any

from tracker.ingest.drain import Drain
from tracker.ingest.drain_number import DrainNumber
from tracker.service.services import Services
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.drivers import Database

PARTS = ("_documents", "_store", "_settle", "_move")
PARTS_OF_PARENTS = ("_join", "_join_conversions")


class Died(Exception):
    pass


class Steps:
    """A counter of steps, which raises Died after a number of them."""

    def __init__(self, left: int) -> None:
        self._left = left

    def around(self, call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def passing(*arguments: Any, **options: Any) -> Any:
            self._pass()
            answer = await call(*arguments, **options)
            self._pass()
            return answer

        return passing

    def _pass(self) -> None:
        if self._left == 0:
            raise Died
        self._left -= 1


class _Database:
    """The stores that a write set is written to."""

    def __init__(self, database: Database, steps: Steps) -> None:
        self._database = database
        self.codec_options = database.codec_options
        self.command = steps.around(database.command)

    def __getitem__(self, name: str) -> Any:
        return self._database[name]


def dying_mongodb(mongodb: MongoDB, steps: Steps) -> MongoDB:
    dying = copy.copy(mongodb)
    dying.database = _Database(mongodb.database, steps)  # type: ignore[assignment]
    return dying


def dying_drain(services: Services, drain_number: DrainNumber, at: int) -> Drain:
    """Return a drain that dies at the step of that number; it lives if it takes fewer."""
    steps = Steps(at)
    drain = services.ingest.drain(drain_number)
    drain._writer._database = dying_mongodb(services.stores.mongodb, steps).database
    drain._writer.calendars._database = drain._writer._database
    drain._writer._click_webhooks._database = drain._writer._database
    for name in PARTS:
        setattr(drain, name, steps.around(getattr(drain, name)))
    for name in PARTS_OF_PARENTS:
        setattr(drain._parents, name, steps.around(getattr(drain._parents, name)))
    return drain
