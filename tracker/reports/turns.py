"""Turns of reports that read clicks: few at once, and shared between accounts. Pure.

`reports/queue` requests one for each such report, which keeps a core of MongoDB busy.

- An account has one turn at a time, so that one account never holds every turn.
- A free turn goes to the waiting accounts in rotation, and there to the oldest report.
- The waiting reports are limited, for one account and in total. When the whole queue is full, the
  newest report of the account with the most waiting reports is dropped: it has filled the queue.
"""

from collections import OrderedDict, deque
from uuid import UUID

import msgspec

from tracker.reports.limits import MAX_RUNNING, MAX_WAITING, MAX_WAITING_OF_ACCOUNT


class TooManyWait(Exception):
    """The error of a full queue: the account's own if `of_account`, otherwise the whole."""

    def __init__(self, of_account: bool) -> None:
        super().__init__()
        self.of_account = of_account


class Turn(msgspec.Struct, eq=False):
    """A report's turn: waiting, running, or dropped for another account's."""

    account_id: UUID
    running: bool = False
    dropped: bool = False


class Turns:
    """The turns that are running, and the reports that wait for one."""

    def __init__(
        self,
        at_once: int = MAX_RUNNING,
        waiting_of_account: int = MAX_WAITING_OF_ACCOUNT,
        waiting: int = MAX_WAITING,
    ) -> None:
        self._at_once = at_once
        self._max_of_account = waiting_of_account
        self._max = waiting
        self._running: set[UUID] = set()
        # The accounts in rotation: one whose turn has ended goes to the end.
        self._waiting: OrderedDict[UUID, deque[Turn]] = OrderedDict()

    @property
    def waiting(self) -> int:
        """Return the number of reports that wait, of all accounts."""
        return sum(map(len, self._waiting.values()))

    def request(self, account_id: UUID) -> tuple[Turn, Turn | None]:
        """Return a new turn, which runs if there is room, and the turn that was dropped for it.

        Raises TooManyWait if the account's queue is full, or the whole queue is and no other
        account has more.
        """
        turn = Turn(account_id)
        if len(self._running) < self._at_once and account_id not in self._running:
            self._begin(turn)
            return turn, None
        own = len(self._waiting.get(account_id, ()))
        if own >= self._max_of_account:
            raise TooManyWait(of_account=True)
        dropped = self._drop_for(own) if self.waiting >= self._max else None
        self._waiting.setdefault(account_id, deque()).append(turn)
        return turn, dropped

    def end(self, turn: Turn) -> Turn | None:
        """End `turn` in whatever state; return the turn that begins now, if any."""
        if turn.dropped:
            return None
        if not turn.running:
            self._remove(turn)
            return None
        self._running.remove(turn.account_id)
        if turn.account_id in self._waiting:
            self._waiting.move_to_end(turn.account_id)
        return self._next()

    def _next(self) -> Turn | None:
        account_id = next((one for one in self._waiting if one not in self._running), None)
        if account_id is None:
            return None
        turn = self._waiting[account_id][0]
        self._remove(turn)
        self._begin(turn)
        return turn

    def _begin(self, turn: Turn) -> None:
        turn.running = True
        self._running.add(turn.account_id)

    def _drop_for(self, own: int) -> Turn:
        account_id = max(self._waiting, key=lambda one: len(self._waiting[one]))
        if len(self._waiting[account_id]) <= own + 1:
            raise TooManyWait(of_account=False)
        turn = self._waiting[account_id][-1]
        self._remove(turn)
        turn.dropped = True
        return turn

    def _remove(self, turn: Turn) -> None:
        queue = self._waiting[turn.account_id]
        queue.remove(turn)
        if not queue:
            del self._waiting[turn.account_id]
