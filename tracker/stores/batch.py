"""Group commit: items that arrive during one round trip share the next.

An idle caller waits for nothing. A busy server pays one round trip for hundreds of items.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextvars import Context
from itertools import islice
from typing import Final, Generic, Protocol, TypeVar

import structlog

from tracker.errors import Unavailable

log = structlog.get_logger(__name__)

MAX_GROUP_ITEMS: Final = 500
MAX_WAITING_ITEMS: Final = 50_000

_AT_ONCE: Final = 50

Item = TypeVar("Item")
Result = TypeVar("Result")
_Result = TypeVar("_Result", contravariant=True)


class Waiter(Protocol[_Result]):
    """A receiver of one result: a future, or an object that needs no turn of the loop."""

    def done(self) -> bool:
        """Return whether it no longer wants a result."""

    def set_result(self, result: _Result, /) -> None: ...

    def set_exception(self, exception: Exception, /) -> None: ...


class Batch(Generic[Item, Result]):
    """A queue that hands items to `run` in groups, one group at a time, in order.

    `run` returns a result for each, in order. If it raises, all its items get the exception.
    """

    def __init__(
        self,
        run: Callable[[list[Item]], Awaitable[Sequence[Result]]],
        group_items: int = MAX_GROUP_ITEMS,
        waiting_items: int = MAX_WAITING_ITEMS,
    ) -> None:
        self._run = run
        self._group_items = group_items
        self._waiting_items = waiting_items
        self._waiting: list[tuple[Item, Waiter[Result]]] = []
        self._worker: asyncio.Task[None] | None = None

    def submit(self, item: Item) -> asyncio.Future[Result]:
        """Return the future result. Cancelling it withdraws nothing. Raises Unavailable."""
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self.add(item, future)
        return future

    def add(self, item: Item, waiter: Waiter[Result]) -> None:
        """Hand the result to `waiter`, later. Raises Unavailable if too many items wait."""
        if len(self._waiting) >= self._waiting_items:
            raise Unavailable("too many requests are waiting for storage; try again")
        self._waiting.append((item, waiter))
        if self._worker is None:
            # It works for all requests, so it carries the id of none.
            loop = asyncio.get_running_loop()
            self._worker = loop.create_task(self._work(), context=Context())

    async def flushed(self) -> None:
        while self._worker is not None:
            await asyncio.wait([self._worker])

    async def _work(self) -> None:
        try:
            while self._waiting:
                group = self._waiting[: self._group_items]
                del self._waiting[: self._group_items]
                await self._run_group(group)
                # Items that arrive now share the next group: smaller groups cost more each.
                await asyncio.sleep(0)
        finally:
            self._worker = None

    async def _run_group(self, group: list[tuple[Item, Waiter[Result]]]) -> None:
        waiters = [waiter for _, waiter in group]
        try:
            results = await self._run([item for item, _ in group])
            answers = list(zip(waiters, results, strict=True))
        except Exception as error:
            for waiter in waiters:
                notify(waiter, waiter.set_exception, error)
            return
        for waiter, result in answers:
            notify(waiter, waiter.set_result, result)


def notify(waiter: Waiter[Result], notify: Callable[[Item], None], outcome: Item) -> None:
    """Hand `outcome` to a waiter that still wants it. If it fails, no other waiter is affected."""
    try:
        if not waiter.done():
            notify(outcome)
    except Exception:
        log.exception("a request failed after its result had come")


async def run_each(run: Callable[[Item], Awaitable[object]], items: Iterable[Item]) -> None:
    """Run for each item, some at once: a turn of the loop with hundreds would hold up visitors."""
    left = iter(items)
    while piece := list(islice(left, _AT_ONCE)):
        await asyncio.gather(*map(run, piece))
