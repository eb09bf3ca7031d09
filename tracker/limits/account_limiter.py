"""A concurrency limit for one kind of work: for each account, and for the process.

Used by API requests that wait for a server of somebody else. A request beyond the limit is rejected
at once, with the time after which to try again.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from tracker.errors import RateLimited, Unavailable


class AccountLimiter:
    """A limiter of work that takes at most `seconds`, which is also when to try again.

    Messages read `{what}: 10 {kind} of the account are under way`, as in `DNS: 10 look-ups`.
    """

    def __init__(self, what: str, kind: str, per_account: int, total: int, seconds: float) -> None:
        self._what, self._kind = what, kind
        self._per_account, self._total = per_account, total
        self._seconds = max(1, round(seconds))
        self._in_flight: Counter[UUID] = Counter()

    @contextmanager
    def acquire(self, account_id: UUID) -> Iterator[None]:
        """Hold one unit of the account's concurrency.

        Raises RateLimited if the account is at its limit, Unavailable if the process is.
        """
        if self._in_flight[account_id] >= self._per_account:
            limit = f"{self._per_account} {self._kind} of the account"
            raise RateLimited(f"{self._what}: {limit} are under way; try again", self._seconds)
        if self._in_flight.total() >= self._total:
            message = f"{self._what}: too many {self._kind} are under way; try again"
            raise Unavailable(message, {"Retry-After": str(self._seconds)})
        self._in_flight[account_id] += 1
        try:
            yield
        finally:
            self._in_flight[account_id] -= 1
            self._in_flight += Counter()  # drops accounts at zero
