"""Imports in MongoDB: their states, and the lease of the process that works on one.

Guarantee: nobody but the holder of a lease moves an import on, and nobody at all once a person has
paused or cancelled it: each step of the work writes the document under both conditions.
"""

import asyncio
import contextlib
from collections.abc import Collection, Coroutine, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, Literal
from uuid import UUID

import msgspec
from pymongo import ReturnDocument

from tracker.clock import now
from tracker.errors import BadRequest, Unavailable
from tracker.loops import cancel_and_wait
from tracker.stores.mongodb.account_lock import has_room, run_in_turn
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import as_document, as_struct
from tracker.stores.mongodb.paging import Pages
from tracker.stores.mongodb.transaction import MongoSession

State = (
    Literal["created", "reading", "uploaded", "checking", "checked", "running", "paused"]
    | Literal["done", "cancelled", "failed", "undoing", "undone"]
)
Action = Literal["check", "run", "pause", "resume", "cancel", "undo"]

_STEPS: Final[Mapping[Action, tuple[State, tuple[State, ...]]]] = {
    "check": ("checking", ("uploaded", "checked", "failed")),
    "run": ("running", ("checked",)),
    "pause": ("paused", ("running",)),
    "resume": ("running", ("paused",)),
    "cancel": (
        "cancelled",
        ("created", "reading", "uploaded", "checking", "checked", "running", "paused", "failed"),
    ),
    "undo": ("undoing", ("done", "cancelled", "failed", "undone")),
}
"""The state that each action leads to, and those in which it may be taken."""

WORKING: Final[Collection[State]] = ("reading", "checking", "running", "undoing")
"""States in which a process works on the import. Only one of an account is in any of them."""

AWAITS_FILE: Final[Collection[State]] = ("created", "uploaded", "checked", "failed")
NO_FILE: Final = f"state: a file is taken in {', '.join(AWAITS_FILE)}"

MAX_IMPORTS: Final = 100
MAX_WORKING: Final = 20
MAX_DOMAINS: Final = 1000
MAX_COLUMNS: Final = 100
LEASE: Final = timedelta(seconds=30)
RENEW_SECONDS: Final = 8.0
MAX_ATTEMPTS: Final = 5


class DomainChoice(msgspec.Struct, frozen=True, kw_only=True):
    """Where the links of a source's domain go: to a domain, or None: the service's own."""

    name: str
    domain_id: UUID | None


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """The column of a CSV, from 0, that has a field."""

    field: str
    number: int


class Import(msgspec.Struct, frozen=True, kw_only=True):
    """An import. `position` is how many items its present step is done with, of `total`."""

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
        self._pages = Pages(mongodb.reads, "imports", Import)

    async def create(self, new: Import) -> None:
        """Store an import. Raises BadRequest if the account has too many."""

        async def create(session: MongoSession) -> None:
            if not await has_room(self._database, "imports", new.account_id, MAX_IMPORTS, session):
                raise BadRequest(f"imports: at most {MAX_IMPORTS}; delete one")
            await self._check_working(new, new.state, session)
            await self._imports.insert_one(as_document(new), session=session)

        await run_in_turn(self._database, new.account_id, create)

    async def act(self, one: Import, action: Action, **fields: Any) -> Import:
        """Set the state that an action leads to. Raises BadRequest in a state that has no such."""
        state, allowed = _STEPS[action]
        begun = {} if action in ("pause", "resume", "cancel") else {"position": 0, "counts": {}}

        async def act(session: MongoSession) -> Import:
            await self._check_working(one, state, session)
            update = {"state": state, "error": None, "holder": None, "leased_until": now()}
            row = await self._imports.find_one_and_update(
                {"_id": one.id, "state": {"$in": list(allowed)}},
                {"$set": {**begun, **update, **fields}},
                return_document=ReturnDocument.AFTER,
                session=session,
            )
            if row is None:
                raise BadRequest(f"state: {action} is possible in {', '.join(allowed)}")
            return as_struct(Import, row)

        return await run_in_turn(self._database, one.account_id, act)

    async def _check_working(self, one: Import, state: State, session: MongoSession) -> None:
        if state not in WORKING:
            return
        working = {"state": {"$in": list(WORKING)}}
        others = {**working, "_id": {"$ne": one.id}}
        if not await has_room(self._database, "imports", one.account_id, 1, session, others):
            raise BadRequest("state: another import of the account is at work; wait until it ends")
        if await self._imports.count_documents(working, session=session) >= MAX_WORKING:
            raise Unavailable(
                f"imports: {MAX_WORKING} are at work; try again", {"Retry-After": "60"}
            )

    async def find(self, import_id: UUID) -> Import | None:
        return await self._pages.by_id(import_id)

    async def page(self, account_id: UUID, page: int, page_size: int) -> tuple[list[Import], int]:
        return await self._pages.find({"account_id": account_id}, page, page_size)

    async def delete(self, import_id: UUID) -> None:
        """Delete an import. Raises BadRequest if it is at work."""
        idle = {"_id": import_id, "state": {"$nin": list(WORKING)}}
        if not (await self._imports.delete_one(idle)).deleted_count:
            raise BadRequest("state: the import is at work; cancel it first")

    async def set_file(self, one: Import, fields: Mapping[str, Any]) -> Import:
        """Record a received file. Raises BadRequest if the import has moved on meanwhile."""
        fields = {"state": "uploaded", "position": 0, "counts": {}, "total": None, **fields}
        row = await self._imports.find_one_and_update(
            {"_id": one.id, "state": {"$in": list(AWAITS_FILE)}},
            {"$set": fields},
            return_document=ReturnDocument.AFTER,
        )
        if row is None:
            raise BadRequest(NO_FILE)
        return as_struct(Import, row)

    async def claim(self, holder: UUID) -> Import | None:
        """Take the lease of an import at which nobody works any more; None if there is none."""
        at = now()
        row = await self._imports.find_one_and_update(
            {"state": {"$in": list(WORKING)}, "leased_until": {"$lte": at}},
            {"$set": {"holder": holder, "leased_until": at + LEASE}, "$inc": {"attempts": 1}},
            sort=[("leased_until", 1)],
            return_document=ReturnDocument.AFTER,
        )
        return None if row is None else as_struct(Import, row)

    async def advance(
        self,
        held: Import,
        fields: Mapping[str, Any] = {},
        counts: Mapping[str, int] = {},
        session: MongoSession | None = None,
        created_tag: UUID | None = None,
    ) -> Import:
        """Renew the lease, set fields and add to counts. Raises LeaseLost."""
        renewed = {"leased_until": now() + LEASE}
        update: dict[str, Any] = {"$set": {**renewed, **fields}}
        if counts:
            update["$inc"] = {f"counts.{outcome}": number for outcome, number in counts.items()}
        if created_tag is not None:
            update["$push"] = {"created_tags": created_tag}
        row = await self._imports.find_one_and_update(
            {"_id": held.id, "state": held.state, "holder": held.holder},
            update,
            return_document=ReturnDocument.AFTER,
            session=session,
        )
        if row is None:
            raise LeaseLost
        return as_struct(Import, row)

    async def fail(self, held: Import, error: str) -> None:
        with contextlib.suppress(LeaseLost):
            await self.advance(held, {"state": "failed", "error": error})


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
