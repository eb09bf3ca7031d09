"""A look-up of one name in flight, and its waiters. Its first step is the copy in Redis."""

import asyncio
from collections.abc import Callable
from typing import Final, Generic, NamedTuple, TypeVar

from tracker.loops import cancel_and_wait
from tracker.stores.batch import Waiter, notify
from tracker.stores.cache.copies import Found

Value = TypeVar("Value")


class Loaded(NamedTuple, Generic[Value]):
    """A value as a store has it, None for a miss. Unless `settled`, a change may be under way."""

    value: Value | None
    settled: bool


class Loading(Generic[Value]):
    """A waiter for the copy of `name`, which continues with `read`.

    Only a look-up in MongoDB is a task: a copy is decoded, and its waiters are notified, in the
    turn of the loop in which Redis answers.
    """

    __slots__ = ("_read", "_waiters", "client", "name", "shared", "task")

    def __init__(
        self,
        name: str,
        client: str,
        shared: bool,
        read: Callable[["Loading[Value]", Found], None],
    ) -> None:
        self.name: Final = name
        self.client: Final = client
        self.shared: Final = shared
        self.task: asyncio.Task[Loaded[Value]] | None = None
        self._read = read
        self._waiters: list[Waiter[Value | None]] = []

    def add(self, waiter: Waiter[Value | None]) -> None:
        self._waiters.append(waiter)

    def done(self) -> bool:
        """Return False: the value is cached even if nobody waits for it any more."""
        return False

    def set_result(self, found: Found) -> None:
        self._read(self, found)

    def set_exception(self, error: Exception) -> None:
        self.fail(error)

    def finish(self, value: Value | None) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            notify(waiter, waiter.set_result, value)

    def fail(self, error: Exception) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            notify(waiter, waiter.set_exception, error)

    async def cancel(self, error: Exception) -> None:
        """End the look-up with `error`."""
        self.fail(error)
        if self.task is not None:
            await cancel_and_wait(self.task)
