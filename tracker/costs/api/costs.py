"""`/api/costs`: what clicks of a period have cost."""

from collections import Counter
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import msgspec

from tracker.access.audit import AuditObject, FieldChange
from tracker.accounts.parameters import field_in
from tracker.costs.api.schema import (
    MAX_ROWS,
    CostAmount,
    CostRecord,
    ListCosts,
    PutCosts,
    RestoreCost,
    StoredCost,
    StoredCosts,
)
from tracker.costs.services import CostCall, CostServices
from tracker.costs.store import Amount, Cost, Outcome
from tracker.errors import BadRequest
from tracker.reports.answers.costs import clicks_met
from tracker.reports.answers.figures import money_of
from tracker.reports.answers.names import filter_names
from tracker.reports.costs.entries import PeriodCost
from tracker.reports.dimensions import LINK, OWN_PREFIX, TAG
from tracker.stores.mongodb.account_lock import run_in_turn
from tracker.stores.mongodb.transaction import MongoSession
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.limits import MAX_BULK_BODY_BYTES
from tracker.web.resource import Resource, record_of
from tracker.web.schema import Done, Page, parse_day

endpoint = Endpoints("costs")


async def _show(services: CostServices, costs: Sequence[Cost]) -> list[CostRecord]:
    if not costs:
        return []
    account_id = costs[0].account_id
    filters: dict[str, list[str]] = {}
    for cost in costs:
        filters.setdefault(cost.period.filter, []).append(cost.period.value)
    async with services.reports.reports.begin(account_id) as run:
        clicks = await clicks_met(run, [one.period for one in costs])
        names = await filter_names(run.reader, account_id, filters)
    return [
        record_of(
            CostRecord,
            one.period,
            **msgspec.structs.asdict(_amount(one.now)),
            account_id=account_id,
            filter={one.period.filter: one.period.value},
            name=names[one.period.filter][one.period.value],
            clicks=clicks[one.id],
            history=list(map(_amount, one.history)),
        )
        for one in costs
    ]


def _amount(stored: Amount) -> CostAmount:
    return record_of(CostAmount, stored, amount=money_of(stored.amount))


COSTS: Resource[Cost, CostRecord] = Resource(
    "cost", lambda call: call.services.costs.find(call.ids[0]), _show
)


@endpoint(
    "PUT",
    "/api/costs",
    "costs:write",
    summary=f"Store up to {MAX_ROWS:,} costs of periods, all or none",
    operation_id="putCosts",
    example={
        "rows": [
            {
                "from": "2026-01-31",
                "to": "2026-01-31",
                "filter": {"utm_campaign": "spring"},
                "amount": 120.5,
            }
        ]
    },
    body_bytes=MAX_BULK_BODY_BYTES,
)
async def put(call: CostCall[Nothing, PutCosts]) -> StoredCosts:
    """Store costs of periods, all or none.

    Raises BadRequest for a currency or own parameter that the account does not have, or a period
    and filter twice.
    """
    rows, costs = call.body.rows, call.services.costs
    own, parameters = await costs.currency_and_parameters(call.account_id)
    sent: dict[str, PeriodCost] = {}
    for number, row in enumerate(rows):
        if row.currency and not own:
            raise BadRequest(f"rows[{number}].currency: the account has no currency; set it first")
        one = row.stored(own)
        if (name := one.filter.removeprefix(OWN_PREFIX)) != one.filter:
            field_in(parameters, name, f"rows[{number}].filter")
        if sent.setdefault(one.key, one) is not one:
            raise BadRequest(f"rows[{number}]: an earlier row has the same period and filter")
    await _check_own(call, list(sent.values()))
    stored = await _store(call, "cost.stored", list(sent.values()))
    return StoredCosts(rows=[StoredCost(id=one, outcome=outcome) for one, outcome in stored])


async def _store(
    call: CostCall[Any, Any], action: str, sent: Sequence[PeriodCost]
) -> list[tuple[UUID, Outcome]]:
    """Store costs, with one entry of the audit log: tools send a thousand every hour."""

    async def work(session: MongoSession) -> list[tuple[UUID, Outcome]]:
        costs, actor = call.services.costs, call.principal.actor
        stored = await costs.put(call.account_id, sent, actor, session)
        counts = Counter(outcome for _, outcome in stored)
        changes = {
            name: FieldChange(before=None, after=counts[name])
            for name in ("created", "replaced")
            if counts[name]
        }
        if changes:
            name = sent[0].name if len(sent) == 1 else f"{len(sent):,} costs"
            target = AuditObject(kind="cost", id=stored[0][0], name=name)
            await call.audit(action, target, changes, session)
        return stored

    return await run_in_turn(call.web.mongodb.database, call.account_id, work)


async def _check_own(call: CostCall[Any, Any], sent: Sequence[PeriodCost]) -> None:
    """Raises NotFound or Forbidden for links and tags that the account does not have."""
    links = await call.services.links.links.find_all(_ids(sent, LINK))
    tags = await call.services.links.tags.find(_ids(sent, TAG))
    for number, one in enumerate(sent):
        if one.filter in (LINK, TAG):
            found = (links if one.filter == LINK else tags).get(UUID(one.value))
            call.check_owner(f"rows[{number}].filter.{one.filter}", found)


def _ids(sent: Sequence[PeriodCost], name: str) -> set[UUID]:
    return {UUID(one.value) for one in sent if one.filter == name}


@endpoint("GET", "/api/costs", "costs:read")
async def list_costs(call: CostCall[ListCosts, Nothing]) -> Page[CostRecord]:
    """List costs of periods, newest first, with the clicks that each meets."""
    query = call.query
    days = parse_day("from", query.first), parse_day("to", query.last)

    async def fetch(page: int, page_size: int) -> tuple[list[Cost], int]:
        return await call.services.costs.page(call.account_id, page, page_size, *days)

    return await COSTS.page(call, query, fetch)


@endpoint("GET", "/api/costs/{id}", "costs:read")
async def show(call: CostCall[Nothing, Nothing]) -> CostRecord:
    """Show a cost of a period, with its earlier amounts."""
    return await COSTS.show(call, await COSTS.find(call))


@endpoint("POST", "/api/costs/{id}/restore", "costs:write", example={"revision": 1})
async def restore(call: CostCall[Nothing, RestoreCost]) -> CostRecord:
    """Give a cost an earlier amount again.

    Raises BadRequest if its history does not have the revision.
    """
    cost, revision = await COSTS.find(call), call.body.revision
    earlier = next((one for one in (*cost.history, cost.now) if one.revision == revision), None)
    if earlier is None:
        raise BadRequest("revision: must be one of the cost's history")
    sent = cost.period._replace(amount=earlier.amount, currency=earlier.currency)
    await _store(call, "cost.restored", [sent])
    return await COSTS.show(call, await COSTS.find(call))


@endpoint("DELETE", "/api/costs/{id}", "costs:write")
async def delete(call: CostCall[Nothing, Nothing]) -> Done:
    """Delete a cost of a period."""
    cost = await COSTS.find(call)
    await call.services.costs.delete(cost.id)
    amount = {"amount": FieldChange(before=str(money_of(cost.period.amount)), after=None)}
    await call.audit("cost.deleted", COSTS.audit_object(cost), amount)
    return Done()
