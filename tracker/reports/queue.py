"""The queue of reports that read clicks: each waits here until `turns` lets it begin."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final
from uuid import UUID

from tracker.errors import RateLimited, Unavailable
from tracker.reports.limits import REPORT_SECONDS
from tracker.reports.turns import TooManyWait, Turn, Turns

RETRY_SECONDS: Final = int(REPORT_SECONDS)
"""The Retry-After of a rejected report: the time limit of one report."""

_TOO_MANY_OF_ACCOUNT: Final = (
    "report: too many reports of the account that read every click wait; try again"
)
_TOO_MANY: Final = "report: too many reports that read every click are under way; try again"


class ReportQueue:
    """The queue of a process's reports that read clicks, in the order of `turns`."""

    def __init__(self, turns: Turns | None = None) -> None:
        self._turns = turns or Turns()
        self._changed: dict[Turn, asyncio.Event] = {}

    @asynccontextmanager
    async def turn(self, account_id: UUID, seconds: float) -> AsyncIterator[None]:
        """Wait for a turn of the account, at most `seconds`, and hold it within the context.

        - Raises RateLimited if too many reports of the account wait.
        - Raises Unavailable if too many of all accounts wait, or no turn came in time.
        """
        turn = self._request(account_id)
        try:
            await self._wait_to_begin(turn, seconds)
            yield
        finally:
            self._changed.pop(turn, None)
            self._notify(self._turns.end(turn))

    def _request(self, account_id: UUID) -> Turn:
        try:
            turn, dropped = self._turns.request(account_id)
        except TooManyWait as error:
            if error.of_account:
                raise RateLimited(_TOO_MANY_OF_ACCOUNT, RETRY_SECONDS) from None
            raise _unavailable() from None
        self._notify(dropped)
        return turn

    async def _wait_to_begin(self, turn: Turn, seconds: float) -> None:
        if not turn.running:
            changed = self._changed[turn] = asyncio.Event()
            try:
                await asyncio.wait_for(changed.wait(), seconds)
            except TimeoutError:
                raise _unavailable() from None
        if turn.dropped:
            raise _unavailable()

    def _notify(self, turn: Turn | None) -> None:
        if turn is not None and turn in self._changed:
            self._changed[turn].set()


def _unavailable() -> Unavailable:
    return Unavailable(_TOO_MANY, {"Retry-After": str(RETRY_SECONDS)})
