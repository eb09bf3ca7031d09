"""Group commit: what arrives while one round trip is under way shares the next.

An idle caller waits for nothing; a busy server pays one round trip for hundreds of items. Used by
the journal (appends) and by conversions (click look-ups).
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import Context
from typing import Generic, TypeVar

from tracker.errors import Unavailable

Item = TypeVar("Item")
Result = TypeVar("Result")


class Batch(Generic[Item, Result]):
    """Gathers items and hands them to `run` in groups, one group at a time, in order.

    `run` takes up to `most` items and returns as many results in the same order; if it raises,
    every item of that group gets the exception. More than `bound` items waiting: Unavailable.
    """

    def __init__(
        self,
        run: Callable[[list[Item]], Awaitable[Sequence[Result]]],
        most: int = 500,
        bound: int = 50_000,
    ) -> None:
        self._run = run
        self._most = most
        self._bound = bound
        self._waiting: list[tuple[Item, asyncio.Future[Result]]] = []
        self._worker: asyncio.Task[None] | None = None

    def submit(self, item: Item) -> asyncio.Future[Result]:
        """The future result of `item`. Cancelling it does not take the item back."""
        if len(self._waiting) >= self._bound:
            raise Unavailable("too many requests are waiting for storage; try again")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Result] = loop.create_future()
        self._waiting.append((item, future))
        if self._worker is None:
            # Its work is everybody's: it carries nobody's request id.
            self._worker = loop.create_task(self._work(), context=Context())
        return future

    async def flushed(self) -> None:
        """Returns when all that was submitted has its result."""
        while self._worker is not None:
            await asyncio.wait([self._worker])

    async def _work(self) -> None:
        try:
            while self._waiting:
                group = self._waiting[: self._most]
                del self._waiting[: self._most]
                await self._run_group(group)
        finally:
            self._worker = None

    async def _run_group(self, group: list[tuple[Item, asyncio.Future[Result]]]) -> None:
        futures = [future for _, future in group]
        try:
            results = await self._run([item for item, _ in group])
            answers = list(zip(futures, results, strict=True))
        except Exception as error:
            for future in futures:
                if not future.done():
                    future.set_exception(error)
            return
        for future, result in answers:
            if not future.done():
                future.set_result(result)
