"""The steps of a conversion that is answered without a coroutine, when a store has answered.

Used by `conversions/record`; each is told by a `db/batch.Batch`.
"""

from collections.abc import Callable
from typing import NamedTuple
from uuid import UUID

from tracker.db.batch import Waiter


class Recorded(NamedTuple):
    event_id: int
    click_found: bool


class AppendWaiter:
    """A waiter for the journal: tells `waiter` when the event is durable."""

    __slots__ = ("_recorded", "_waiter")

    def __init__(self, recorded: Recorded, waiter: Waiter[Recorded]) -> None:
        self._recorded = recorded
        self._waiter = waiter

    def done(self) -> bool:
        return self._waiter.done()

    def set_result(self, _: int | None) -> None:
        self._waiter.set_result(self._recorded)

    def set_exception(self, error: Exception) -> None:
        self._waiter.set_exception(error)


class OwnerWaiter:
    """A waiter for the owner of a click: goes on with the conversion that names it."""

    __slots__ = ("_append", "_waiter")

    def __init__(self, append: Callable[[UUID | None], None], waiter: Waiter[Recorded]) -> None:
        self._append = append
        self._waiter = waiter

    def done(self) -> bool:
        """Return False: the conversion counts even if its sender has gone."""
        return False

    def set_result(self, owner_id: UUID | None) -> None:
        try:
            self._append(owner_id)
        except Exception as error:
            self._waiter.set_exception(error)

    def set_exception(self, error: Exception) -> None:
        self._waiter.set_exception(error)
