"""The memory of processes under attack: before, at its highest, and when it is given back."""

import asyncio
from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self

from lab.abuse.result import GROWTH, Memory
from lab.processes import Process
from lab.usage import resident_bytes

SETTLE_SECONDS: Final = 20.0
"""How long memory may take to be given back."""

_LOOK_EVERY: Final = 0.25


class MemoryWatch:
    """The resident bytes of `processes` together, looked at while the context is open."""

    def __init__(self, processes: Sequence[Process]) -> None:
        self._pids = [process.pid for process in processes]
        self._before = self._highest = 0

    async def __aenter__(self) -> Self:
        self._before = self._highest = self._now()
        self._looking = asyncio.get_running_loop().create_task(self._look())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._looking.cancel()
        await asyncio.wait([self._looking])

    async def settled(self) -> Memory:
        """Return the sizes once enough is given back, or after SETTLE_SECONDS."""
        for _ in range(int(SETTLE_SECONDS / _LOOK_EVERY)):
            if self._now() - self._before <= GROWTH:
                break
            await asyncio.sleep(_LOOK_EVERY)
        return Memory(self._before, self._highest, self._now())

    async def _look(self) -> None:
        while True:
            self._highest = max(self._highest, self._now())
            await asyncio.sleep(_LOOK_EVERY)

    def _now(self) -> int:
        return sum(map(resident_bytes, self._pids))
