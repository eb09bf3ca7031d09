"""Round robin of accounts at a sender: which webhooks a claim is for, and what it leaves.

If more accounts are due than a claim has room for, a third of its webhooks are of accounts that are
hardly late: no backlog delays them. The rest is of all accounts in turn, so each is served.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain, zip_longest
from typing import NamedTuple
from uuid import UUID

from tracker.webhooks.deliveries import Deliveries
from tracker.webhooks.queue import FRESH, DeliveryQueue, QueuedAccount, SettledAccount

InFlight = Callable[[UUID, UUID], int | None]
"""Returns the requests in flight of an account's webhook; None if no further one may start."""


class AccountBatch(NamedTuple):
    """The accounts of a claim.

    A request may start for webhooks that are `ready`; the claim has room for those `offered`.
    `is_full` if other accounts may wait behind these.
    """

    at: datetime
    accounts: Sequence[QueuedAccount]
    ready: Mapping[UUID, Sequence[UUID]]
    offered: Sequence[UUID]
    is_full: bool

    def fresh(self) -> set[UUID]:
        """Return the webhooks that are hardly late, and so have little to send."""
        since = self.at - FRESH
        return {key for one in self.accounts for key, at in one.webhooks.items() if at > since}


class RoundRobin:
    """The order in which one sender takes the accounts of the queue."""

    def __init__(self, queue: DeliveryQueue, deliveries: Deliveries, in_flight: InFlight) -> None:
        self._queue = queue
        self._deliveries = deliveries
        self._in_flight = in_flight
        self._is_odd = False

    async def take(self, at: datetime, limit: int) -> AccountBatch:
        """Take the accounts of a claim for up to `limit` webhooks."""
        self._is_odd = not self._is_odd  # so that a single place is not always a fresh one's
        for_fresh = (limit + 2 * self._is_odd) // 3
        in_turn = limit - for_fresh
        due = await self._queue.next(at, in_turn) if in_turn else []
        if len(due) < in_turn:
            ready = {one.account_id: self._ready(one, at) for one in due}
            return AccountBatch(at, due, ready, _one_of_each_first(ready.values())[:limit], False)
        await self._queue.move_back(due, at)
        fresh = await self._queue.fresh(at, for_fresh) if for_fresh else []
        ready = {one.account_id: self._ready(one, at) for one in fresh}
        others = [one for one in due if one.account_id not in ready]
        ready_others = {one.account_id: self._ready(one, at) for one in others}
        offered = _one_of_each_first(ready.values())[:for_fresh]
        offered += _one_of_each_first(ready_others.values())[: limit - len(offered)]
        return AccountBatch(at, [*fresh, *others], ready | ready_others, offered, True)

    async def settle(self, taken: AccountBatch, claimed: Collection[UUID]) -> None:
        """Settle the accounts after a claim for the webhooks `claimed`."""
        next_due = await self._deliveries.next_due(claimed) if claimed else {}
        offered, settled = set(taken.offered), []
        for account in taken.accounts:
            ready = taken.ready[account.account_id]
            mine = {one: next_due.get(one) for one in ready if one in claimed}
            is_blocked = taken.is_full and offered.issuperset(ready)
            if mine or is_blocked or not account.is_due(taken.at):
                settled.append(SettledAccount(account, mine))
        await self._queue.settle(settled, taken.at)

    def _ready(self, account: QueuedAccount, at: datetime) -> list[UUID]:
        ranks = {
            one: (number, due_at)
            for one, due_at in account.webhooks.items()
            if due_at <= at and (number := self._in_flight(account.account_id, one)) is not None
        }
        return sorted(ranks, key=lambda one: ranks[one])


def _one_of_each_first(webhooks: Iterable[Sequence[UUID]]) -> list[UUID]:
    """Return the webhooks of several accounts: one of each account, then a second one."""
    return [one for one in chain.from_iterable(zip_longest(*webhooks)) if one is not None]
