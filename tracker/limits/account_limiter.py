"""A bound on work of one kind that is under way at once: for each account, and in this process.

For requests to the API that have to wait for somebody else's server. Whoever finds no place is told
when to come again, and waits for nothing.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from tracker.errors import RateLimited, Unavailable


class AccountLimiter:
    """`what` begins the messages, as in `DNS: 10 look-ups`; `kind` is the plural in them.

    `seconds` is how long one takes at most: when to try again.
    """

    def __init__(self, what: str, kind: str, per_account: int, in_all: int, seconds: float) -> None:
        self._what, self._kind = what, kind
        self._per_account, self._in_all = per_account, in_all
        self._seconds = max(1, round(seconds))
        self._of_account: Counter[UUID] = Counter()

    @contextmanager
    def acquire(self, account_id: UUID) -> Iterator[None]:
        """Hold one of the account's places.

        Raises RateLimited if the account has none left, Unavailable if the process has none.
        """
        if self._of_account[account_id] >= self._per_account:
            most = f"{self._per_account} {self._kind} of the account"
            raise RateLimited(f"{self._what}: {most} are under way; try again", self._seconds)
        if self._of_account.total() >= self._in_all:
            message = f"{self._what}: too many {self._kind} are under way; try again"
            raise Unavailable(message, {"Retry-After": str(self._seconds)})
        self._of_account[account_id] += 1
        try:
            yield
        finally:
            self._of_account[account_id] -= 1
            self._of_account += Counter()  # without those that have none
