"""The lock of an account, for limits that must hold for simultaneous requests.

Transactions that only read could both take the last free place. So each also writes the account's
document, and one of them conflicts and starts again.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar
from uuid import UUID
from weakref import WeakValueDictionary

from tracker.errors import Unavailable
from tracker.stores.mongodb.drivers import Database
from tracker.stores.mongodb.transaction import RETRY_SECONDS, MongoSession, run_in_transaction

Result = TypeVar("Result")

_BUSY: Final = "account: too many changes at once; try again"

_turns: WeakValueDictionary[UUID, asyncio.Lock] = WeakValueDictionary()
"""The queue of transactions of each account, member and key, while it has any."""


async def run_in_turn(
    database: Database, owner: UUID, work: Callable[[MongoSession], Awaitable[Result]]
) -> Result:
    """Run `work` in a transaction, one at a time for each `owner` in this process.

    `owner` is the account if `work` locks it, else the member or key whose authority it locks. Of a
    hundred conflicting transactions without turns, eighty were not done after five seconds. Raises
    Unavailable after RETRY_SECONDS of waiting.
    """
    async with turn_of(owner, RETRY_SECONDS, _BUSY):
        return await run_in_transaction(database, work)


@asynccontextmanager
async def turn_of(owner: UUID, seconds: float, busy: str) -> AsyncIterator[None]:
    """Wait for the turn of `owner` in this process. Raises Unavailable after `seconds`."""
    turn = _turns.setdefault(owner, asyncio.Lock())
    try:
        async with asyncio.timeout(seconds):
            await turn.acquire()
    except TimeoutError:
        raise Unavailable(busy, {"Retry-After": "1"}) from None
    try:
        yield
    finally:
        turn.release()


async def lock_account(database: Database, account_id: UUID, session: MongoSession) -> None:
    """Conflict with every other transaction that locks this account, until this one ends."""
    account = {"_id": account_id}
    await database["accounts"].update_one(account, {"$inc": {"locks": 1}}, session=session)


async def has_room(
    database: Database,
    collection: str,
    account_id: UUID,
    limit: int,
    session: MongoSession,
    matching: Mapping[str, Any] | None = None,
) -> bool:
    """Lock the account; return whether it has fewer than `limit` matching documents.

    That stays true until the transaction ends, if every insert of such documents asks this.
    """
    await lock_account(database, account_id, session)
    found = await database[collection].count_documents(
        {"account_id": account_id, **(matching or {})}, limit=limit, session=session
    )
    return found < limit
