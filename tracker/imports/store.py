"""Imports in MongoDB: their states, and the lease of the process that works on one.

Guarantee: only the holder of the lease moves an import on, and nobody once a person has paused or
cancelled it. Each step of the work writes the document under both conditions.
"""

import asyncio
import contextlib
from collections.abc import Coroutine, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, Literal
from uuid import UUID

import msgspec
from msgspec import Meta
from pymongo import ReturnDocument

from tracker.clock import now
from tracker.errors import BadRequest
from tracker.loops import cancel_and_wait
from tracker.stores.mongodb.account_lock import has_room, run_in_turn
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import as_document, as_struct
from tracker.stores.mongodb.paging import Pages
from tracker.stores.mongodb.transaction import MongoSession

State = (
    Literal["created", "reading", "uploaded", "checking", "checked", "running", "paused"]
    | Literal["done", "cancelled", "failed", "undoing", "undone", "comparing"]
)
Action = Literal["file", "check", "run", "pause", "resume", "cancel", "undo", "compare"]
States = tuple[State, ...]

WORKING: Final[States] = ("reading", "checking", "running", "undoing", "comparing")
"""States in which a process works on the import. Only one of an account is in any of them."""

AWAITS_FILE: Final[States] = ("created", "uploaded", "checked", "failed")

_GO_ON: Final[tuple[Action, ...]] = ("pause", "resume", "cancel", "compare")
"""Actions that keep position and counts. `compare` is the check of a cut-over."""

_STEPS: Final[Mapping[Action, tuple[State, States]]] = {
    "file": ("uploaded", AWAITS_FILE),
    "check": ("checking", ("uploaded", "checked", "failed")),
    "run": ("running", ("checked",)),
    "pause": ("paused", ("running",)),
    "resume": ("running", ("paused",)),
    "cancel": ("cancelled", (*AWAITS_FILE, "reading", "checking", "running", "paused")),
    "undo": ("undoing", ("done", "cancelled", "failed", "undone")),
    "compare": ("comparing", ("done",)),
}
"""The state that each action leads to, and those in which it may be taken."""

MAX_IMPORTS: Final = 100
MAX_DOMAINS: Final = 1000
MAX_COLUMNS: Final = 100
LEASE: Final = timedelta(seconds=30)
RENEW_SECONDS: Final = 8.0


class DomainChoice(msgspec.Struct, frozen=True, kw_only=True):
    """Where the links of a source's domain go; None: to the service's own domain."""

    name: str
    domain_id: UUID | None


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """The column of a CSV, from 0, that has a field."""

    field: str
    number: Annotated[int, Meta(ge=0)]


class CutOver(msgspec.Struct, frozen=True, kw_only=True):
    """The check of a cut-over: how many paths were asked, and how many of them differ.

    `position` is the number of the last row, `domains` are where its links are.
    """

    at: datetime
    position: int = -1
    paths: int = 0
    differ: int = 0
    domains: list[UUID] = []
    is_complete: bool = False


class Import(msgspec.Struct, frozen=True, kw_only=True):
    """An import. `position` is how many items its present step is done with, of `total`.

    Its `visits` are stored last. `attempts` are those that ended without a step. Counts are rows by
    outcome, and visits.
    """

    id: UUID
    account_id: UUID
    created_at: datetime
    source: str
    instance: str = ""
    state: State = "created"
    format: str = ""
    domains: list[DomainChoice] = []
    columns: list[Column] = []
    file_id: UUID | None = None
    file_bytes: int = 0
    position: int = 0
    total: int | None = None
    counts: dict[str, int] = {}
    visits: int = 0
    visits_done: int = 0
    cut_over: CutOver | None = None
    domain_names: list[str] = []
    created_tags: list[UUID] = []
    error: str | None = None
    attempts: int = 0
    holder: UUID | None = None
    leased_until: datetime | None = None


class LeaseLost(Exception):
    """Somebody has paused or cancelled the import, or another process has it."""


class Imports:
    """The imports of all accounts in MongoDB."""

    def __init__(self, mongodb: MongoDB) -> None:
        self._database = mongodb.database
        self._imports = mongodb["imports"]
        pages = Pages(mongodb.reads, "imports", Import)
        self.find = pages.by_id
        self._find_page = pages.find

    async def page(self, account_id: UUID, page: int, page_size: int) -> tuple[list[Import], int]:
        return await self._find_page({"account_id": account_id}, page, page_size)

    async def create(self, new: Import) -> None:
        """Store an import. Raises BadRequest if the account has too many."""

        async def create(session: MongoSession) -> None:
            owner = new.account_id
            if not await has_room(self._database, "imports", owner, MAX_IMPORTS, session):
                raise BadRequest(f"imports: at most {MAX_IMPORTS}; delete one")
            await self._check_working(new, new.state, session)
            await self._imports.insert_one(as_document(new), session=session)

        await run_in_turn(self._database, new.account_id, create)

    async def act(self, one: Import, action: Action, fields: Mapping[str, Any]) -> Import:
        """Set the state that an action leads to. Raises BadRequest if it cannot be taken now."""
        state, allowed = _STEPS[action]
        again = {} if action in _GO_ON else {"position": 0, "visits_done": 0, "counts": {}}
        held = {"state": state, "error": None, "attempts": 0, "holder": None}
        update = {"$set": {**again, **held, "leased_until": now(), **fields}}

        async def act(session: MongoSession) -> Import | None:
            await self._check_working(one, state, session)
            return await self._update({"_id": one.id, "state": {"$in": allowed}}, update, session)

        changed = await run_in_turn(self._database, one.account_id, act)
        if changed is None:
            raise BadRequest(f"state: {action} is possible in {', '.join(allowed)}")
        return changed

    async def claim(self, holder: UUID) -> Import | None:
        """Take the lease of an import at which nobody works any more; None if there is none."""
        idle = {"state": {"$in": WORKING}, "leased_until": {"$lte": now()}}
        lease = {"holder": holder, "leased_until": now() + LEASE}
        return await self._update(idle, {"$set": lease, "$inc": {"attempts": 1}})

    async def advance(
        self,
        held: Import,
        fields: Mapping[str, Any] = {},
        counts: Mapping[str, int] = {},
        tags: Sequence[UUID] = (),
        session: MongoSession | None = None,
    ) -> None:
        """Renew the lease, set fields, and add counts and created tags. Raises LeaseLost."""
        update: dict[str, Any] = {"$set": {"leased_until": now() + LEASE, **fields}}
        if counts:
            update["$inc"] = {f"counts.{name}": number for name, number in counts.items()}
        if tags:
            update["$push"] = {"created_tags": {"$each": tags}}
        own = {"_id": held.id, "state": held.state, "holder": held.holder}
        if await self._update(own, update, session) is None:
            raise LeaseLost

    async def fail(self, held: Import, error: str) -> None:
        with contextlib.suppress(LeaseLost):
            await self.advance(held, {"state": "failed", "error": error})

    async def delete(self, import_id: UUID) -> None:
        """Delete an import. Raises BadRequest if it is at work."""
        idle = {"_id": import_id, "state": {"$nin": WORKING}}
        if not (await self._imports.delete_one(idle)).deleted_count:
            raise BadRequest("state: the import is at work; cancel it first")

    async def _check_working(self, one: Import, state: State, session: MongoSession) -> None:
        if state not in WORKING:
            return
        working = {"state": {"$in": WORKING}, "_id": {"$ne": one.id}}
        if not await has_room(self._database, "imports", one.account_id, 1, session, working):
            raise BadRequest("state: another import of the account is at work; wait until it ends")

    async def _update(
        self,
        matching: Mapping[str, Any],
        update: Mapping[str, Any],
        session: MongoSession | None = None,
    ) -> Import | None:
        row = await self._imports.find_one_and_update(
            matching, update, return_document=ReturnDocument.AFTER, session=session
        )
        return None if row is None else as_struct(Import, row)


async def leased(imports: Imports, held: Import, work: Coroutine[Any, Any, None]) -> None:
    """Do `work` while the lease is renewed. Raises LeaseLost, and the errors of `work`."""

    async def renew() -> None:
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            await imports.advance(held)

    renewing, working = asyncio.ensure_future(renew()), asyncio.ensure_future(work)
    try:
        await asyncio.wait((renewing, working), return_when=asyncio.FIRST_COMPLETED)
        (working if working.done() else renewing).result()
    finally:
        await cancel_and_wait(working)
        await cancel_and_wait(renewing)
