"""A concurrency limit for one kind of work: for each account, and for the process."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from tracker.errors import RateLimited, Unavailable


class AccountLimiter:
    """A limiter of work that takes at most `seconds`; try again after that time."""

    def __init__(
        self, name: str, plural: str, per_account: int, total: int, seconds: float
    ) -> None:
        self._name, self._plural = name, plural
        self._per_account, self._total = per_account, total
        self._seconds = max(1, round(seconds))
        self._in_flight: Counter[UUID] = Counter()

    @contextmanager
    def acquire(self, account_id: UUID) -> Iterator[None]:
        """Raises RateLimited at the account's limit, Unavailable at the limit of the process."""
        if self._in_flight[account_id] >= self._per_account:
            limit = f"{self._per_account} {self._plural} of the account"
            raise RateLimited(f"{self._name}: {limit} are under way; try again", self._seconds)
        if self._in_flight.total() >= self._total:
            raise self.too_many()
        self._in_flight[account_id] += 1
        try:
            yield
        finally:
            self._in_flight[account_id] -= 1
            self._in_flight += Counter()  # drops accounts at zero

    def too_many(self) -> Unavailable:
        message = f"{self._name}: too many {self._plural} are under way; try again"
        return Unavailable(message, {"Retry-After": str(self._seconds)})
