"""The memory of reports: a budget of bytes for all reports of a process.

A report reserves the bytes that its rows need at most before it reads them. It returns them at its
end. If they are not free, it waits a moment, and is then rejected. The last bytes are for small
reports.
"""

import asyncio
import ctypes
import functools
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from uuid import UUID

from tracker.errors import BadRequest, Unavailable
from tracker.reports import limits
from tracker.reports.columns import Columns

_MEGABYTE: Final = 1024 * 1024

_RETRY_SECONDS: Final = 5

_LARGE: Final = 16 * _MEGABYTE
"""Reports of this many bytes or more return their memory to the system."""

_APART_BYTES: Final = 256 * 1024
"""After a large report, glibc maps blocks of this many bytes or more separately."""

_M_MMAP_THRESHOLD: Final = -3  # in malloc.h of glibc


class Reservation:
    """The bytes that one request has reserved."""

    def __init__(self, memory: "ReportMemory", account_id: UUID) -> None:
        self._memory = memory
        self._account_id = account_id
        self.bytes = 0
        self.was_large = False

    async def take(self, count: int) -> None:
        """Reserve more bytes.

        - Raises BadRequest if an account may not have so many.
        - Raises Unavailable if they are not free in time.
        """
        is_small = self.bytes + count <= limits.SMALL_BYTES
        most = self._memory.of_account - (0 if is_small else self._memory.for_small)
        if self.bytes + count > most:
            raise BadRequest(
                f"report: these days have more values than {most // _MEGABYTE} MB hold; ask for "
                "fewer days, or filter them"
            )
        await self._memory.wait_for(self._account_id, count, is_small)
        self.bytes += count
        if self.bytes >= _LARGE:
            self.was_large = True
            _keep_large_blocks_apart()

    async def resize(self, count: int) -> None:
        """Change the reservation to `count` bytes. Raises as `take`."""
        self.shrink_to(count)
        if count > self.bytes:
            await self.take(count - self.bytes)

    def shrink_to(self, count: int) -> None:
        if count < self.bytes:
            self._memory.release(self._account_id, self.bytes - count)
            self.bytes = count


class UnlimitedMemory(Reservation):
    """The memory of drains, which have no budget."""

    def __init__(self) -> None:
        self.bytes = 0

    async def take(self, count: int) -> None:
        pass

    def shrink_to(self, count: int) -> None:
        pass


class ReportMemory:
    """The budget in bytes: `total`, `of_account` for each account, the last `for_small` for small
    reports.
    """

    def __init__(
        self,
        total: int = limits.MEMORY_BYTES,
        of_account: int = limits.MEMORY_BYTES_OF_ACCOUNT,
        for_small: int = limits.MEMORY_BYTES_OF_SMALL,
    ) -> None:
        self.total = total
        self.of_account = of_account
        self.for_small = for_small
        self._taken = Counter[UUID]()
        self._released = asyncio.Event()

    @property
    def taken(self) -> int:
        return self._taken.total()

    @contextmanager
    def reserve(self, account_id: UUID) -> Iterator[Reservation]:
        """Yield an empty reservation, and free it at the end."""
        reservation = Reservation(self, account_id)
        try:
            yield reservation
        finally:
            reservation.shrink_to(0)
            if reservation.was_large:
                # In a thread: finding free pages takes some milliseconds.
                asyncio.get_running_loop().run_in_executor(None, _return_free_pages)

    async def wait_for(self, account_id: UUID, count: int, is_small: bool) -> None:
        """Reserve bytes once they are free. Raises Unavailable if that takes too long."""
        try:
            async with asyncio.timeout(limits.MEMORY_SECONDS):
                while not self._fits(account_id, count + (0 if is_small else self.for_small)):
                    await self._released.wait()
        except TimeoutError:
            raise Unavailable(
                f"report: the {self.total // _MEGABYTE} MB for reports are in use; try again",
                {"Retry-After": str(_RETRY_SECONDS)},
            ) from None
        self._taken[account_id] += count

    def release(self, account_id: UUID, count: int) -> None:
        """Free bytes, and wake the waiting reports."""
        self._taken[account_id] -= count
        self._taken += Counter()  # drops accounts at zero
        self._released.set()
        self._released = asyncio.Event()

    def _fits(self, account_id: UUID, count: int) -> bool:
        return (
            self._taken[account_id] + count <= self.of_account
            and self._taken.total() + count <= self.total
        )


def bytes_of(table: Columns) -> int:
    """Return the bytes of a table while a report is made. It reads each value: use a thread."""
    text = sum(sum(map(_text_bytes, one.values)) for one in table.dimensions.values())
    return limits.ROW_BYTES * table.rows + limits.TEXT_COPIES * text


def _text_bytes(text: str) -> int:
    return len(text) if text.isascii() else limits.WIDE_BYTES * len(text)


@functools.cache
def _keep_large_blocks_apart() -> None:
    """Make glibc return large blocks to the system when they are freed.

    Otherwise it keeps them, and small blocks of visitors end up between them. 60 MB stayed
    allocated, and now 30 do.
    """
    _glibc("mallopt", _M_MMAP_THRESHOLD, _APART_BYTES)


def _return_free_pages() -> None:
    """Return the free pages of small blocks to the system, where glibc can."""
    _glibc("malloc_trim", 0)


def _glibc(function: str, *arguments: int) -> None:
    found = getattr(ctypes.CDLL(None), function, None) if sys.platform == "linux" else None
    if found is not None:
        found(*arguments)
