"""The streams of one account in a process, and what they are told next."""

import math
from typing import Final
from uuid import UUID

from tracker.live.stream import LiveEvent, LiveStream

_STATE_SECONDS: Final = 15.0
"""How often a state is told that has not changed: clicks leave the last minutes, and a connection
that is gone is noticed."""


class AccountStreams:
    """The streams of an account.

    `is_followed` says that what lands from now on is told. `state` is what a new one is told first.
    It is counted at `count_at` at the earliest, and not twice at a time (`is_counted`).
    """

    def __init__(self, account_id: UUID) -> None:
        self.id = account_id
        self.streams: list[LiveStream] = []
        self.is_followed = False
        self.state: LiveEvent | None = None
        self.told_at = -math.inf
        self.count_at = 0.0
        self.is_counted = False

    def wants_state(self, at: float) -> bool:
        return at >= self.count_at and at - self.told_at >= _STATE_SECONDS

    def tell_state_next(self) -> None:
        """Have the state told as soon as it may be counted."""
        self.told_at = -math.inf

    def tell(self, event: LiveEvent) -> None:
        for stream in self.streams:
            stream.put(event)
