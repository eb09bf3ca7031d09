"""The worker on jobs of one kind in a process: one job at a time, in chunks."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final, Generic, TypeVar

import structlog
from pymongo.errors import PyMongoError

from tracker.clock import now
from tracker.errors import BadRequest, Unavailable
from tracker.ids import new_id
from tracker.jobs.store import J, Jobs, LeaseLost, leased
from tracker.loops import wait

log = structlog.get_logger(__name__)

LOOK_SECONDS: Final = 2.0
MAX_ATTEMPTS: Final = 5

Item = TypeVar("Item")


class JobWorker(Generic[J]):
    """The work on `jobs`. A kind of jobs says in `work` what it is."""

    def __init__(self, jobs: Jobs[J]) -> None:
        self._jobs = jobs

    async def run(self, stop: asyncio.Event) -> None:
        """Work on one job after the other until `stop` is set."""
        while not stop.is_set():
            try:
                found = await self.work_on_one(stop)
            except PyMongoError as error:
                found = False
                log.warning(
                    "jobs wait: MongoDB fails", kind=self._jobs.noun, error=type(error).__name__
                )
            if not found:
                await wait(stop, LOOK_SECONDS)

    async def work_on_one(self, stop: asyncio.Event) -> bool:
        """Work on a job at which nobody works; return whether there was one."""
        held = await self._jobs.claim(new_id())
        if held is None:
            return False
        named = {"kind": self._jobs.noun, "job_id": str(held.id)}
        try:
            await leased(self._jobs, held, self._step(held, stop))
        except LeaseLost:
            log.info("a job was taken over, paused or cancelled", **named)
        except Unavailable as error:  # of Redis, or of threads for passwords
            log.warning("a job waits", error=error.message, **named)
            with contextlib.suppress(LeaseLost):
                await self._jobs.advance(held, {"attempts": 0})
        except BadRequest as error:
            await self._jobs.fail(held, error.message)
        return True

    async def work(self, held: J, stop: asyncio.Event) -> dict[str, Any] | None:
        """Do the present step of a job; return the fields of its end, None if stopped before.

        Raises BadRequest if it cannot be done, NotImplementedError: kinds override it.
        """
        raise NotImplementedError

    async def _step(self, held: J, stop: asyncio.Event) -> None:
        if held.attempts > MAX_ATTEMPTS:
            noun = self._jobs.noun
            raise BadRequest(f"{noun}: failed again and again; the operator's log says why")
        ended = await self.work(held, stop)
        if ended is None:
            await self._jobs.advance(held, {"leased_until": now()})
            return
        await self._jobs.advance(held, ended)
        log.info("a step of a job has ended", kind=self._jobs.noun, state=ended["state"])


async def chunks(
    items: AsyncIterator[Item], skip: int, size: int
) -> AsyncIterator[Sequence[tuple[int, Item]]]:
    """Yield the items from number `skip` on, numbered."""
    number, chunk = 0, list[tuple[int, Item]]()
    async for item in items:
        if number >= skip:
            chunk.append((number, item))
        number += 1
        if number % size == 0:
            if chunk:
                yield chunk
            chunk = []
            await asyncio.sleep(0)
    if chunk:
        yield chunk
