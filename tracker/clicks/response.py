"""The waiters of a visit: for its domain, its link, and its click (`clicks/redirect`)."""

import asyncio
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

import msgspec

from tracker.stores.batch import Waiter

Found = TypeVar("Found")


class ClickResponse(Waiter[int | None], Protocol):
    """The waiter for a click. It gets the Location before it is notified."""

    location: str


class AwaitedResponse:
    """A response that is awaited."""

    location = ""

    def __init__(self) -> None:
        self.recorded: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def done(self) -> bool:
        return self.recorded.done()

    def set_result(self, _: int | None) -> None:
        self.recorded.set_result(None)

    def set_exception(self, error: Exception) -> None:
        self.recorded.set_exception(error)


class Continuation(msgspec.Struct, Generic[Found], frozen=True, gc=False):
    """A waiter for a domain or a link, with which a visit continues."""

    proceed: Callable[[Found], None]
    response: ClickResponse

    def done(self) -> bool:
        return self.response.done()

    def set_result(self, found: Found) -> None:
        try:
            self.proceed(found)
        except Exception as error:
            self.response.set_exception(error)

    def set_exception(self, error: Exception) -> None:
        self.response.set_exception(error)
