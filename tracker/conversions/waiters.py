"""Waiters for stores: the next step of a conversion that is answered without a coroutine.

Made by `conversions/record`; a `db/batch.Batch` passes each its result.
"""

from collections.abc import Callable
from typing import NamedTuple
from uuid import UUID

from tracker.db.batch import Waiter


class Recorded(NamedTuple):
    """The result of recording: the event, and whether its click was found."""

    event_id: int
    click_found: bool


class AppendWaiter:
    """A waiter for the journal, which passes the result on once the event is durable."""

    __slots__ = ("_recorded", "_waiter")

    def __init__(self, recorded: Recorded, waiter: Waiter[Recorded]) -> None:
        self._recorded = recorded
        self._waiter = waiter

    def done(self) -> bool:
        """Return whether nobody waits any longer."""
        return self._waiter.done()

    def set_result(self, _: int | None) -> None:
        """Pass on that the event is durable."""
        self._waiter.set_result(self._recorded)

    def set_exception(self, error: Exception) -> None:
        """Pass on why it is not durable."""
        self._waiter.set_exception(error)


class OwnerWaiter:
    """A waiter for the account of a click, which goes on with the conversion that names it."""

    __slots__ = ("_append", "_waiter")

    def __init__(self, append: Callable[[UUID | None], None], waiter: Waiter[Recorded]) -> None:
        self._append = append
        self._waiter = waiter

    def done(self) -> bool:
        """Return False: the conversion counts even if its sender has disconnected."""
        return False

    def set_result(self, owner_id: UUID | None) -> None:
        """Append the conversion, now that the account of its click is looked up."""
        try:
            self._append(owner_id)
        except Exception as error:
            self._waiter.set_exception(error)

    def set_exception(self, error: Exception) -> None:
        """Pass on why the look-up failed."""
        self._waiter.set_exception(error)
