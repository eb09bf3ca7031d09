"""Rules: when a webhook is told of figures. Alerts and summaries have a collection each.

- A claim sets `due_at` to the end of its lease. Only its holder concludes it.
- A message is stored in the transaction that notes it, so it exists once.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType, field
from pymongo import ReturnDocument

from tracker.clock import iso
from tracker.errors import LimitReached, NotFound
from tracker.reports.api.figures import MeasureName
from tracker.reports.api.filters import ReportFilters, check_dimension
from tracker.reports.api.groups import GroupByIn
from tracker.reports.dimensions import GROUPS
from tracker.stores.mongodb.account_lock import has_room
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import as_document, as_struct
from tracker.stores.mongodb.paging import Pages
from tracker.stores.mongodb.transaction import MongoSession, run_in_transaction
from tracker.webhooks.creation import insert_deliveries
from tracker.webhooks.delivery import Kind, delivery_id, new_row
from tracker.webhooks.operational_messages import envelope
from tracker.webhooks.queue import DeliveryQueue, DueWebhook

MAX_OF_ACCOUNT: Final = 50
LEASE: Final = timedelta(minutes=2)


class AlertRule(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A condition of a measure within the last whole hours of the account's days."""

    measure: MeasureName
    filters: ReportFilters = field(default_factory=ReportFilters)
    hours: Annotated[int, Meta(ge=1, le=168)] = 24
    condition: Annotated[
        Literal["below", "above", "halved"],
        Meta(description="halved: below half of the same hours a week before"),
    ]
    threshold: float | None = None
    pause_hours: Annotated[int, Meta(ge=1, le=720, description="the time between two messages")] = (
        field(default=24, name="pauseHours")
    )

    def __post_init__(self) -> None:
        if (self.condition == "halved") != (self.threshold is None):
            raise ValueError("threshold: needed for below and above, and only for them")


class SummaryRule(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """The figures of the last week or month, beside those of the one before."""

    every: Annotated[
        Literal["week", "month"], Meta(description="told on Mondays or on the 1st, at 8:00")
    ]
    measure: MeasureName = "clicks"
    filters: ReportFilters = field(default_factory=ReportFilters)
    group_by: Annotated[GroupByIn, Meta(description="its first rows too")] | UnsetType = field(
        default=UNSET, name="groupBy"
    )

    def __post_init__(self) -> None:
        if not isinstance(self.group_by, UnsetType):
            check_dimension("groupBy", self.group_by, GROUPS)


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A stored rule, which is JSON text.

    - `due_at`: when it is looked at next. `until`: up to when it was, with its `value`.
    - `told_until`: of the last message. `problem`: why it cannot be told.
    """

    id: UUID
    account_id: UUID
    name: str
    webhook_id: UUID
    rule: str
    created_at: datetime
    due_at: datetime
    until: datetime
    told_until: datetime | None = None
    value: float | None = None
    problem: str | None = None


class Rules:
    """The rules of one kind."""

    def __init__(self, mongodb: MongoDB, collection: str, kind: Kind, queue: DeliveryQueue) -> None:
        self.kind = kind
        self._collection = collection
        self._database = mongodb.database
        self._rules = mongodb[collection]
        self._pages = Pages(mongodb.reads, collection, Rule)
        self._queue = queue

    async def create(self, rule: Rule, session: MongoSession) -> None:
        """Store a rule. Raises BadRequest if the account has MAX_OF_ACCOUNT."""
        most, account_id = MAX_OF_ACCOUNT, rule.account_id
        if not await has_room(self._database, self._collection, account_id, most, session):
            raise LimitReached(f"rule: an account has at most {most} {self._collection}")
        await self._rules.insert_one(as_document(rule), session=session)

    async def replace(self, rule: Rule, session: MongoSession) -> None:
        """Store a rule in the place of its own. Raises NotFound if it is deleted meanwhile."""
        own, document = {"_id": rule.id}, as_document(rule)
        if not (await self._rules.replace_one(own, document, session=session)).matched_count:
            raise NotFound("alert: not found")

    async def find(self, rule_id: UUID) -> Rule | None:
        return await self._pages.by_id(rule_id)

    async def page(self, account_id: UUID, page: int, page_size: int) -> tuple[list[Rule], int]:
        return await self._pages.find({"account_id": account_id}, page, page_size)

    async def delete(self, rule_id: UUID) -> None:
        await self._rules.delete_one({"_id": rule_id})

    async def claim(self, at: datetime) -> Rule | None:
        """Claim the rule that is due first, until `at` + LEASE."""
        due, claimed = {"due_at": {"$lte": at}}, {"$set": {"due_at": at + LEASE}}
        after = ReturnDocument.AFTER
        row = await self._rules.find_one_and_update(
            due, claimed, sort=[("due_at", 1)], return_document=after
        )
        return None if row is None else as_struct(Rule, row)

    async def conclude(
        self, rule: Rule, changes: Mapping[str, Any], told: Mapping[str, Any] | None
    ) -> bool:
        """Store `changes`, and the message `told`; return False if another holds the rule."""

        async def work(session: MongoSession) -> set[DueWebhook] | None:
            held = {"_id": rule.id, "due_at": rule.due_at}
            done = await self._rules.update_one(held, {"$set": {**changes}}, session=session)
            if not done.modified_count:
                return None
            return set() if told is None else await self._send(rule, changes, told, session)

        due = await run_in_transaction(self._database, work)
        await self._queue.add(due or ())
        return due is not None

    async def _send(
        self, rule: Rule, changes: Mapping[str, Any], told: Mapping[str, Any], session: MongoSession
    ) -> set[DueWebhook]:
        until, at = changes["until"], rule.due_at - LEASE
        key = delivery_id(rule.webhook_id, f"{self.kind} {rule.id} {iso(until)}")
        data = {"account_id": rule.account_id, "id": rule.id, "name": rule.name, **told}
        payload = envelope(self.kind, at, data)
        row = new_row(key, rule.webhook_id, rule.account_id, at, kind=self.kind, payload=payload)
        return await insert_deliveries(self._database, [row], session)
