"""The costs of periods in MongoDB, each with its earlier amounts."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any, Final, Literal
from uuid import UUID

import msgspec

from tracker.access.principal import Actor
from tracker.accounts import parameters
from tracker.clock import now
from tracker.errors import LimitReached
from tracker.reports.costs.entries import PeriodCost, cost_of, of_period
from tracker.reports.rollups.money import billionths, decimal_of_billionths
from tracker.stores.mongodb.account_lock import lock_account
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import run_inserts, run_updates
from tracker.stores.mongodb.paging import Pages
from tracker.stores.mongodb.transaction import MongoSession

MAX_OF_ACCOUNT: Final = 100_000

MAX_HISTORY: Final = 30
"""Earlier amounts of a cost. A tool that sends a running total every hour has a day of them."""

Outcome = Literal["created", "replaced", "unchanged"]


class Amount(msgspec.Struct, frozen=True, kw_only=True):
    """An amount in billionths, who has sent it and when. Without `currency`: the account's."""

    amount: int
    currency: str | None
    revision: int
    updated_at: datetime
    actor: Actor


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """A stored cost, its amount, and the earlier ones, oldest first."""

    account_id: UUID
    period: PeriodCost
    now: Amount
    history: list[Amount]

    @property
    def id(self) -> UUID:
        return self.period.id

    @property
    def name(self) -> str:
        return self.period.name


class Costs:
    """The costs of all accounts."""

    def __init__(self, mongodb: MongoDB) -> None:
        self._database = mongodb.database
        self._costs = mongodb["costs"]
        self._pages = Pages(mongodb.reads, "costs", Cost, _cost)

    async def put(
        self, account_id: UUID, sent: Sequence[PeriodCost], actor: Actor, session: MongoSession
    ) -> list[tuple[UUID, Outcome]]:
        """Store costs with different keys, in place of those with the same; return their ids.

        Raises BadRequest if the account would have more than MAX_OF_ACCOUNT.
        """
        await lock_account(self._database, account_id, session)
        of_keys = {"account_id": account_id, "key": {"$in": [one.key for one in sent]}}
        known = {row["key"]: row async for row in self._costs.find(of_keys, session=session)}
        new = [_document(account_id, one, actor) for one in sent if one.key not in known]
        if new:
            of_account = {"account_id": account_id}
            stored = await self._costs.count_documents(of_account, session=session)
            if stored + len(new) > MAX_OF_ACCOUNT:
                raise LimitReached(f"rows: an account has at most {MAX_OF_ACCOUNT:,} costs")
            mark = {"$set": {"has_costs": True}}
            accounts = self._database["accounts"]
            await accounts.update_one({"_id": account_id}, mark, session=session)
            await run_inserts(self._database, "costs", new, session)
        found: dict[str, tuple[UUID, Outcome]] = {
            row["key"]: (row["_id"], "created") for row in new
        }
        updates = []
        for one in sent:
            if (row := known.get(one.key)) is not None:
                change = _change(row, one, actor)
                found[one.key] = row["_id"], "replaced" if change else "unchanged"
                updates += [{"q": {"_id": row["_id"]}, "u": change}] if change else []
        await run_updates(self._database, "costs", updates, session)
        return [found[one.key] for one in sent]

    async def find(self, cost_id: UUID) -> Cost | None:
        return await self._pages.by_id(cost_id)

    async def page(
        self, account_id: UUID, page: int, page_size: int, first: date, last: date
    ) -> tuple[list[Cost], int]:
        return await self._pages.find(of_period(account_id, first, last), page, page_size)

    async def delete(self, cost_id: UUID) -> None:
        await self._costs.delete_one({"_id": cost_id})

    async def currency_and_parameters(self, account_id: UUID) -> tuple[str | None, dict[str, str]]:
        """Return the account's currency, and the fields of its own parameters."""
        fields = ["currency", parameters.FIELD]
        account = await self._database["accounts"].find_one({"_id": account_id}, fields) or {}
        return account.get("currency"), parameters.fields_of(parameters.positions_in(account))


def _document(account_id: UUID, sent: PeriodCost, actor: Actor) -> dict[str, Any]:
    period = {"first": sent.first, "last": sent.last, "filter": sent.filter, "value": sent.value}
    amount = _amount(sent, actor) | {"revision": 1, "history": []}
    return {"_id": sent.id, "account_id": account_id, "key": sent.key, **period, **amount}


def _change(row: dict[str, Any], sent: PeriodCost, actor: Actor) -> dict[str, Any] | None:
    """Return the update of a stored cost; None if its amount is the same."""
    if (billionths(row["amount"]), row["currency"]) == (sent.amount, sent.currency):
        return None
    earlier = {name: row[name] for name in Amount.__struct_fields__}
    return {
        "$set": _amount(sent, actor),
        "$inc": {"revision": 1},
        "$push": {"history": {"$each": [earlier], "$slice": -MAX_HISTORY}},
    }


def _amount(sent: PeriodCost, actor: Actor) -> dict[str, Any]:
    by = msgspec.to_builtins(actor, builtin_types=[UUID])
    amount = decimal_of_billionths(sent.amount)
    return {"amount": amount, "currency": sent.currency, "updated_at": now(), "actor": by}


def _cost(row: dict[str, Any]) -> Cost:
    current, *history = (
        msgspec.convert({**one, "amount": billionths(one["amount"])}, Amount)
        for one in (row, *row["history"])
    )
    account_id = UUID(bytes=row["account_id"])
    return Cost(account_id=account_id, period=cost_of(row), now=current, history=history)
