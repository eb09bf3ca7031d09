"""Accounts own everything else. The operator's script creates them."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec
from msgspec.structs import replace

from tracker.accounts import parameters
from tracker.accounts.parameters import Positions, placed
from tracker.clicks.enrich import COST_PARAMETER
from tracker.clock import now
from tracker.errors import NotFound
from tracker.ids import new_id
from tracker.links.counts.recount import complete_at_creation
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import as_document, as_struct, updated
from tracker.stores.mongodb.transaction import MongoSession, run_in_transaction

COST_FIELD: Final = "cost_parameter"


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """The owner of links, domains, event configurations, webhooks and keys.

    `cost_parameter` is stored only if it was chosen; None: clicks say nothing of their cost.
    `parameters` are the sender's own, stored once some were named. `decides` is stored once a link
    has had rules or a split, `has_parents` once a click has led to another. `origins` are of pages
    that may report clicks (`clicks/pages`).
    """

    id: UUID
    name: str
    created_at: datetime
    cost_parameter: str | None = COST_PARAMETER
    parameters: Positions = ()
    decides: bool = False
    has_parents: bool = False
    origins: tuple[str, ...] = ()


class Accounts:
    """The accounts in MongoDB."""

    def __init__(self, mongodb: MongoDB) -> None:
        self._database = mongodb.database
        self._accounts = mongodb["accounts"]

    async def create(self, name: str) -> Account:
        """Store a new account and return it. Several accounts may have the same name."""
        account = Account(id=new_id(), name=name, created_at=now())

        async def work(session: MongoSession) -> None:
            row = as_document(account)
            del row[COST_FIELD], row[parameters.FIELD]
            for unused in ("decides", "has_parents", "origins"):
                del row[unused]
            await self._accounts.insert_one(row, session=session)
            await complete_at_creation(self._database, account.id, session)

        await run_in_transaction(self._database, work)
        return account

    async def find(self, account_id: UUID) -> Account | None:
        row = await self._accounts.find_one({"_id": account_id})
        return None if row is None else as_struct(Account, row)

    async def rename(self, account_id: UUID, name: str) -> Account:
        """Rename an account and return it. Raises NotFound if there is none."""
        change = {"$set": {"name": name}}
        row = await updated(self._accounts, {"_id": account_id}, change, "account")
        return as_struct(Account, row)

    async def set_cost_parameter(self, account_id: UUID, name: str | None) -> Account:
        """Choose the parameter of costs and return the account. Raises NotFound if there is none.

        Drains follow within `KNOWN_FOR` (`accounts/time_zones`).
        """
        chosen = {"$unset" if name == COST_PARAMETER else "$set": {COST_FIELD: name}}
        row = await updated(self._accounts, {"_id": account_id}, chosen, "account")
        return as_struct(Account, row)

    async def set_parameters(self, account_id: UUID, names: Sequence[str]) -> Account:
        """Name the sender's own parameters and return the account. Raises as above.

        Drains follow as above.
        """

        async def work(session: MongoSession) -> Account:
            row = await self._accounts.find_one({"_id": account_id}, session=session)
            if row is None:
                raise NotFound("account: not found")
            account = as_struct(Account, row)
            named = replace(account, parameters=placed(account.parameters, names))
            stored = {parameters.FIELD: [msgspec.to_builtins(one) for one in named.parameters]}
            await self._accounts.update_one({"_id": account_id}, {"$set": stored}, session=session)
            return named

        return await run_in_transaction(self._database, work)

    async def names(self, ids: Collection[UUID]) -> dict[UUID, str]:
        rows = self._accounts.find({"_id": {"$in": [*ids]}}, ["name"])
        return {row["_id"]: row["name"] async for row in rows}

    async def failing_webhooks(self, account_id: UUID) -> int:
        """Count the webhooks that fail, or that the service has disabled."""
        failing = [{"active": True, "failing_since": {"$ne": None}}]
        stopped = {"active": False, "disabled_reason": {"$ne": None}}
        matching = {"account_id": account_id, "$or": [*failing, stopped]}
        return await self._database["webhooks"].count_documents(matching)

    async def list(self) -> list[Account]:
        return [as_struct(Account, row) async for row in self._accounts.find().sort("_id", 1)]
