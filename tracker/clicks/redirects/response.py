"""The waiters of a visit: for its domain, its link, and its click (`clicks/redirects/redirect`).

Each passes an error on to `visitor`, who waits for the answer.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from tracker.clicks.redirects.redirection import Answer
from tracker.stores.batch import Waiter

Found = TypeVar("Found")


class _Step(msgspec.Struct, frozen=True, gc=False):
    visitor: Waiter[Answer]

    def done(self) -> bool:
        return self.visitor.done()

    def set_exception(self, error: Exception) -> None:
        self.visitor.set_exception(error)


class Continuation(_Step, Generic[Found], frozen=True, gc=False):
    """A waiter for a domain or a link, with which a visit continues."""

    proceed: Callable[[Found], None]

    def set_result(self, found: Found) -> None:
        try:
            self.proceed(found)
        except Exception as error:
            self.visitor.set_exception(error)


class Recording(_Step, frozen=True, gc=False):
    """A waiter for a click. Once that is durable, the visitor gets the answer."""

    answer: Answer

    def set_result(self, _: int | None) -> None:
        self.visitor.set_result(self.answer)
