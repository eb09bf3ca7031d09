"""A circuit breaker that counts how often a store was waited for in vain."""

from tests.clock import Clock
from tracker.stores.breaker import Breaker


class CountedBreaker(Breaker):
    """A breaker that stays open after a failure, because its clock stands still."""

    def __init__(self) -> None:
        super().__init__(Clock())
        self.failures = 0

    def record_failure(self, error: BaseException | None = None) -> None:
        self.failures += 1
        super().record_failure(error)
