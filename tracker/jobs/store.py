"""Jobs in MongoDB: their states, and the lease of the process that works on one.

Guarantee: only the holder of the lease moves a job on, and nobody once a person has paused or
cancelled it. Each step of the work writes the document under both conditions.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final, Generic, NamedTuple, TypeVar
from uuid import UUID

import msgspec
from pymongo import ReturnDocument

from tracker.clock import now
from tracker.errors import BadRequest, LimitReached
from tracker.loops import cancel_and_wait
from tracker.stores.mongodb.account_lock import has_room, run_in_turn
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import as_document, as_struct
from tracker.stores.mongodb.paging import Pages
from tracker.stores.mongodb.transaction import MongoSession

LEASE: Final = timedelta(seconds=30)
RENEW_SECONDS: Final = 8.0


class Step(NamedTuple):
    """The state that an action leads to, and those in which it may be taken.

    Unless it `goes_on`, the job begins anew.
    """

    state: str
    allowed: Sequence[str]
    goes_on: bool = False


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A job. `position` is how many items its present step is done with.

    `attempts` are those that ended without progress. Counts are items by outcome.
    """

    id: UUID
    account_id: UUID
    created_at: datetime
    state: str
    file_id: UUID | None = None
    file_bytes: int = 0
    position: int = 0
    counts: dict[str, int] = {}
    error: str | None = None
    attempts: int = 0
    holder: UUID | None = None
    leased_until: datetime | None = None


J = TypeVar("J", bound=Job)
InTransaction = Callable[[MongoSession, J], Awaitable[object]]


class LeaseLost(Exception):
    """Somebody has paused or cancelled the job, or another process has it."""


class Jobs(Generic[J]):
    """The jobs of one kind of all accounts, in the collection that is their plural `noun`.

    In a `working` state a process works on the job. Only one of an account is in any of them.
    `anew` are the fields of a job that begins anew.
    """

    noun: ClassVar[str]
    most: ClassVar[int]
    remedy: ClassVar[str] = "delete one"
    working: ClassVar[Sequence[str]]
    steps: ClassVar[Mapping[str, Step]]
    anew: ClassVar[Mapping[str, Any]] = {"position": 0, "counts": {}}

    def __init__(self, mongodb: MongoDB, kind: type[J]) -> None:
        self._database = mongodb.database
        self._name = f"{self.noun}s"
        self._kind = kind
        self._jobs = mongodb[self._name]
        pages = Pages(mongodb.reads, self._name, kind)
        self.find = pages.by_id
        self._find_page = pages.find

    async def page(self, account_id: UUID, page: int, page_size: int) -> tuple[list[J], int]:
        return await self._find_page({"account_id": account_id}, page, page_size)

    async def create(self, new: J, in_transaction: InTransaction[J] | None = None) -> None:
        """Store a job. Raises BadRequest if the account has too many."""

        async def create(session: MongoSession) -> None:
            if not await has_room(self._database, self._name, new.account_id, self.most, session):
                raise LimitReached(f"{self._name}: at most {self.most}; {self.remedy}")
            await self._check_working(new, new.state, session)
            await self._jobs.insert_one(as_document(new), session=session)
            if in_transaction is not None:
                await in_transaction(session, new)

        await run_in_turn(self._database, new.account_id, create)

    async def act(self, one: J, action: str, fields: Mapping[str, Any]) -> J:
        """Set the state that an action leads to. Raises BadRequest if it cannot be taken now."""
        state, allowed, goes_on = self.steps[action]
        again = {} if goes_on else self.anew
        held = {"state": state, "error": None, "attempts": 0, "holder": None}
        update = {"$set": {**again, **held, "leased_until": now(), **fields}}

        async def act(session: MongoSession) -> J | None:
            await self._check_working(one, state, session)
            return await self._update({"_id": one.id, "state": {"$in": allowed}}, update, session)

        changed = await run_in_turn(self._database, one.account_id, act)
        if changed is None:
            raise BadRequest(f"state: {action} is possible in {', '.join(allowed)}")
        return changed

    async def claim(self, holder: UUID) -> J | None:
        """Take the lease of a job at which nobody works any more; None if there is none."""
        idle = {"state": {"$in": self.working}, "leased_until": {"$lte": now()}}
        lease = {"holder": holder, "leased_until": now() + LEASE}
        return await self._update(idle, {"$set": lease, "$inc": {"attempts": 1}})

    async def advance(
        self,
        held: J,
        fields: Mapping[str, Any] = {},
        counts: Mapping[str, int] = {},
        pushed: Mapping[str, Sequence[Any]] = {},
        session: MongoSession | None = None,
    ) -> None:
        """Renew the lease, set fields, add counts, and push on lists. Raises LeaseLost."""
        update: dict[str, Any] = {"$set": {"leased_until": now() + LEASE, **fields}}
        if counts:
            update["$inc"] = {f"counts.{name}": number for name, number in counts.items()}
        if pushed:
            update["$push"] = {name: {"$each": some} for name, some in pushed.items()}
        own = {"_id": held.id, "state": held.state, "holder": held.holder}
        if await self._update(own, update, session) is None:
            raise LeaseLost

    async def fail(self, held: J, error: str) -> None:
        with contextlib.suppress(LeaseLost):
            await self.advance(held, {"state": "failed", "error": error})

    async def delete(self, job_id: UUID) -> None:
        """Delete a job. Raises BadRequest if it is at work."""
        idle = {"_id": job_id, "state": {"$nin": self.working}}
        if not (await self._jobs.delete_one(idle)).deleted_count:
            raise BadRequest(f"state: the {self.noun} is at work; cancel it first")

    async def _check_working(self, one: J, state: str, session: MongoSession) -> None:
        if state not in self.working:
            return
        working = {"state": {"$in": self.working}, "_id": {"$ne": one.id}}
        if not await has_room(self._database, self._name, one.account_id, 1, session, working):
            rule = f"another {self.noun} of the account is at work; wait until it ends"
            raise BadRequest(f"state: {rule}")

    async def _update(
        self,
        matching: Mapping[str, Any],
        update: Mapping[str, Any],
        session: MongoSession | None = None,
    ) -> J | None:
        row = await self._jobs.find_one_and_update(
            matching, update, return_document=ReturnDocument.AFTER, session=session
        )
        return None if row is None else as_struct(self._kind, row)


async def leased(jobs: Jobs[J], held: J, work: Coroutine[Any, Any, None]) -> None:
    """Do `work` while the lease is renewed. Raises LeaseLost, and the errors of `work`."""

    async def renew() -> None:
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            await jobs.advance(held)

    renewing, working = asyncio.ensure_future(renew()), asyncio.ensure_future(work)
    try:
        await asyncio.wait((renewing, working), return_when=asyncio.FIRST_COMPLETED)
        (working if working.done() else renewing).result()
    finally:
        await cancel_and_wait(working)
        await cancel_and_wait(renewing)
