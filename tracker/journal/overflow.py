"""The overflow: a stream of its own for accounts that send more than drains can store.

One account's flood would delay all other clicks, because a stream is stored in order. Drains read
the overflow last (`ingest/priority`). Records with claims never go there.
"""

from collections import Counter
from typing import Final

import structlog
from redis.exceptions import RedisError

from tracker.journal.backlog import Backlog
from tracker.loops import sleep_in_step

log = structlog.get_logger(__name__)

MIN_SHARE: Final = 0.25
"""The share of a process's records above which an account's go to the overflow."""

BEHIND_MS: Final = 1000
"""The age of the oldest entry above which drains are behind."""

_DECISION_SECONDS: Final = 1.0


class Overflow:
    """The accounts of one process whose records go to the overflow now."""

    def __init__(self) -> None:
        self.is_counting = False
        """Whether drains are behind, so that `takes` must see every record."""
        self._records: Counter[bytes] = Counter()
        self._accounts: frozenset[bytes] = frozenset()

    def takes(self, account_id: bytes) -> bool:
        """Count a record of this account, and return whether it goes to the overflow."""
        self._records[account_id] += 1
        return account_id in self._accounts

    def decide(self, is_behind: bool) -> None:
        """Choose the accounts again; none unless drains are behind and other accounts wait."""
        limit = self._records.total() * MIN_SHARE
        chosen = {one for one, number in self._records.items() if number > limit}
        if not is_behind or len(self._records) < 2:
            chosen = set()
        if chosen != self._accounts:
            log.warning("accounts with an overflow", accounts=len(chosen))
        self.is_counting, self._accounts = is_behind, frozenset(chosen)
        self._records.clear()


async def keep_deciding(overflow: Overflow, backlog: Backlog) -> None:
    """Choose the accounts once a second, until cancelled; none while Redis is unavailable."""
    while True:
        try:
            *streams, last = await backlog.measure_each()
            # The last overflow is stored before accounts lose theirs.
            is_behind = last.entries > 0 or any(one.oldest_ms > BEHIND_MS for one in streams)
            overflow.decide(is_behind)
        except RedisError:
            overflow.decide(False)
        await sleep_in_step(_DECISION_SECONDS)
