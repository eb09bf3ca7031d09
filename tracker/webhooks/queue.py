"""The queue of accounts with deliveries to send: one small document per account, in MongoDB.

It has a time for each webhook with something due, and the time of the account's turn. A webhook is
added after its delivery is stored. Senders take accounts in turn, and settle what is left.

- After its turn an account goes to the back: the next account was served longest ago.
- Accounts that are hardly late are found apart, so that no other account's backlog delays them.

Guarantee: a time may be too early, none is too late but for the pause of a blocked account. Only
`settle` makes times later than now, and only if nothing was added since the account was read.
`queue_repair` adds what a process that died did not add.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

import structlog
from pymongo import ASCENDING, DESCENDING
from pymongo.errors import OperationFailure, PyMongoError

from tracker.clock import now
from tracker.ids import new_id
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import DUPLICATE_KEY, run_updates, stored_ids
from tracker.webhooks.limits import MAX_ROWS_PER_COMMAND

log = structlog.get_logger(__name__)

COLLECTION: Final = "delivery_queue"

BLOCKED: Final = timedelta(seconds=1)
"""The pause of an account whose receivers take no more requests, while others wait behind it."""

FRESH: Final = timedelta(seconds=5)
"""An account whose first due delivery is less late than this is found apart."""

_NEVER: Final = datetime(9999, 1, 1, tzinfo=UTC)


class DueWebhook(NamedTuple):
    """A webhook with a delivery that may be claimed from `at` on."""

    account_id: UUID
    webhook_id: UUID
    at: datetime


def due_webhook(delivery: Mapping[str, Any]) -> DueWebhook:
    return DueWebhook(delivery["account_id"], delivery["webhook_id"], delivery["due_at"])


class QueuedAccount(NamedTuple):
    """An account as it was read from the queue. `webhooks` have times, also in the future."""

    account_id: UUID
    token: UUID
    webhooks: Mapping[UUID, datetime]

    def is_due(self, at: datetime) -> bool:
        return any(due_at <= at for due_at in self.webhooks.values())


class SettledAccount(NamedTuple):
    """An account after its turn: what is left to send.

    `next_due` has the webhooks that were claimed from, None for one without a delivery. If it is
    empty, the account was blocked.
    """

    account: QueuedAccount
    next_due: Mapping[UUID, datetime | None]


class DeliveryQueue:
    """The queue of all accounts. A process has one."""

    def __init__(self, mongodb: MongoDB) -> None:
        self._database = mongodb.database
        # Writes wait for no majority either: `queue_repair` finds what a failover loses.
        self._reads = mongodb.reads.of_primary()
        self.made_due = asyncio.Event()
        """Set when this process makes deliveries due: its sender claims them at once."""

    async def add(self, due: Iterable[DueWebhook]) -> None:
        """Add webhooks whose deliveries are stored.

        It does not fail: the deliveries are stored, and `queue_repair` finds them later.
        """
        times: defaultdict[UUID, dict[UUID, datetime]] = defaultdict(dict)
        for account_id, webhook_id, at in due:
            of_account = times[account_id]
            of_account[webhook_id] = min(at, of_account.get(webhook_id, at))
        try:
            await self._update([_addition(key, one) for key, one in times.items()])
        except PyMongoError as error:
            log.warning("deliveries wait: MongoDB fails", error=type(error).__name__)
        if any(at <= now() for one in times.values() for at in one.values()):
            self.made_due.set()

    async def fresh(self, at: datetime, limit: int) -> list[QueuedAccount]:
        """Return the accounts that are hardly late, the least late first."""
        hardly_late = {"due_at": {"$gt": at - FRESH, "$lte": at}}
        return await self._find(hardly_late, ("due_at", DESCENDING), limit)

    async def next(self, at: datetime, limit: int) -> list[QueuedAccount]:
        """Return the accounts whose turn it is, in the order of the queue."""
        return await self._find({"turn_at": {"$lte": at}}, ("turn_at", ASCENDING), limit)

    async def move_back(self, accounts: Sequence[QueuedAccount], at: datetime) -> None:
        """Move accounts to the back, so that other senders skip them until they are settled."""
        taken = {"_id": {"$in": [one.account_id for one in accounts]}, "turn_at": {"$lte": at}}
        statement = {"q": taken, "u": {"$set": {"turn_at": at}}, "multi": True}
        await self._update([statement])

    async def times(self, account_ids: Iterable[bytes]) -> dict[str, datetime]:
        """Return the times at which webhooks of accounts are looked at, by hexadecimal id."""
        rows = await self._reads.find(COLLECTION, {"_id": {"$in": stored_ids(account_ids)}})
        times: dict[str, datetime] = {}
        for row in rows:
            turn_at = row.get("turn_at", _NEVER)
            times.update((key, max(at, turn_at)) for key, at in row["webhooks"].items())
        return times

    async def settle(self, accounts: Sequence[SettledAccount], at: datetime) -> None:
        """Set the next turns of accounts. `at` is the time of the present one."""
        await self._update([_settlement(one, at) for one in accounts])

    async def _find(
        self, matching: Mapping[str, Any], order: tuple[str, int], limit: int
    ) -> list[QueuedAccount]:
        rows = await self._reads.find(COLLECTION, matching, sort=[order], limit=limit)
        return list(map(_queued_account, rows))

    async def _update(self, statements: Sequence[Mapping[str, Any]]) -> None:
        """Run the statements, which may be repeated."""
        for start in range(0, len(statements), MAX_ROWS_PER_COMMAND):
            piece = statements[start : start + MAX_ROWS_PER_COMMAND]
            try:
                await run_updates(self._database, COLLECTION, piece, durable=False)
            except OperationFailure as error:
                # Two processes have inserted the same account: now it exists.
                if error.code != DUPLICATE_KEY:
                    raise
                await run_updates(self._database, COLLECTION, piece, durable=False)


def _addition(account_id: UUID, times: Mapping[UUID, datetime]) -> dict[str, Any]:
    first = min(times.values())
    earlier = {"due_at": first, "turn_at": first}
    earlier |= {_path(webhook_id): at for webhook_id, at in times.items()}
    fields = {path: {"$min": [f"${path}", at]} for path, at in earlier.items()}
    return {
        "q": {"_id": account_id},
        "u": [{"$set": {**fields, "token": new_id()}}],
        "upsert": True,
    }


def _settlement(settled: SettledAccount, at: datetime) -> dict[str, Any]:
    """Return the update. If something was added meanwhile, no time is later than `at`."""
    account, next_due = settled
    left = [one for one in {**account.webhooks, **next_due}.values() if one is not None]
    first = min(left, default=None)
    times = {"due_at": first, "turn_at": first and max(at, first)}
    if account.is_due(at) and not next_due:
        times = dict.fromkeys(times, at + BLOCKED)
    times |= {_path(webhook_id): due_at for webhook_id, due_at in next_due.items()}
    unchanged = {"$eq": ["$token", account.token]}
    fields = {
        path: {"$cond": [unchanged, time or "$$REMOVE", min(time or at, at)]}
        for path, time in times.items()
    }
    return {"q": {"_id": account.account_id}, "u": [{"$set": fields}]}


def _path(webhook_id: UUID) -> str:
    return f"webhooks.{webhook_id.hex}"


def _queued_account(row: Mapping[str, Any]) -> QueuedAccount:
    webhooks = {UUID(hex=key): at for key, at in row["webhooks"].items()}
    return QueuedAccount(row["_id"], row["token"], webhooks)
