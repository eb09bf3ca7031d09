"""`/api/alerts` and `/api/summaries`: what webhooks are told of figures."""

from typing import Annotated, Any, Final
from uuid import UUID

import msgspec
from msgspec import Meta, UnsetType, field
from msgspec.structs import replace

from tracker.access.audit import differences
from tracker.alerts.rules import AlertRule, Rule, Rules, SummaryRule
from tracker.alerts.services import AlertCall
from tracker.alerts.telling import problem_of
from tracker.clock import iso, now
from tracker.errors import BadRequest
from tracker.ids import new_id
from tracker.reports.answers.selection import resolved
from tracker.reports.api.filters import as_sent
from tracker.reports.api.reports import check_domains
from tracker.reports.api.schema import CreateReport, DateRange
from tracker.reports.joint_counts.scope import scope_of
from tracker.stores.mongodb.account_lock import run_in_turn
from tracker.stores.mongodb.transaction import MongoSession
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.resource import Resource, one_by_one, record_of
from tracker.web.schema import AccountId, AccountPage, Done, Page, Text, Timestamp, trimmed

endpoint = Endpoints("alerts")


class _New(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    account_id: AccountId = field(name="accountId")
    name: Text
    webhook_id: UUID

    def __post_init__(self) -> None:
        self.name = trimmed("name", self.name)


class CreateAlert(_New, kw_only=True):
    """When to tell which webhook."""

    rule: AlertRule


class CreateSummary(_New, kw_only=True):
    """What to tell which webhook every week or month."""

    rule: SummaryRule


class AlertRecord(msgspec.Struct, kw_only=True):
    """An alert or a summary, and what came of it."""

    id: UUID
    account_id: UUID
    name: str
    webhook_id: UUID
    rule: Annotated[dict[str, Any], Meta(description="as it was sent")]
    created_at: Timestamp
    next_at: Annotated[Timestamp, Meta(description="when it is looked at next")]
    until: Annotated[Timestamp, Meta(description="the end of the hours or days looked at last")]
    told_until: Annotated[Timestamp | None, Meta(description="that of the last message")]
    value: Annotated[float | None, Meta(description="of an alert's measure, when last looked at")]
    problem: Annotated[str | None, Meta(description="why it cannot be told now")]


_NOT_AUDITED: Final = ("due_at", "until", "told_until", "value", "problem")


def _record(rule: Rule) -> AlertRecord:
    shown = msgspec.json.decode(rule.rule)
    filters = as_sent(shown.get("filters", {}))
    shown["filters"] = {name: values for name, values in filters.items() if values}
    return record_of(AlertRecord, rule, rule=shown, next_at=iso(rule.due_at))


ALERTS: Resource[Rule, AlertRecord] = Resource(
    "alert", lambda call: call.services.alerts.find(call.ids[0]), one_by_one(_record)
)
SUMMARIES: Resource[Rule, AlertRecord] = Resource(
    "summary", lambda call: call.services.summaries.find(call.ids[0]), one_by_one(_record)
)


async def _checked(call: AlertCall[Nothing, Any], rule_id: UUID) -> Rule:
    """Return the rule of a request, due at once. Raises BadRequest if it could not be told."""
    body, at = call.body, now()
    call.principal.require("reports:read", "rule")
    webhook = await call.services.webhooks.webhooks.find(body.webhook_id)
    call.check_owner("webhook_id", webhook)
    group = getattr(body.rule, "group_by", "day")
    days = DateRange(first="2026-01-01", last="2026-01-01")
    report = CreateReport(
        account_id=call.account_id,
        date_range=days,
        filters=body.rule.filters,
        group_by="day" if isinstance(group, UnsetType) else group,
    )
    await check_domains(call.services.reports, report)
    scope = await scope_of(call.web.mongodb.reads, call.account_id)
    resolved(scope, replace(report.query(call.account_id), group_by=report.group_by))
    rule = Rule(
        id=rule_id,
        account_id=call.account_id,
        name=body.name,
        webhook_id=body.webhook_id,
        rule=msgspec.json.encode(body.rule).decode(),
        created_at=at,
        due_at=at,
        until=at,
    )
    if problem := await problem_of(call.web.mongodb.reads, rule):
        raise BadRequest(f"rule: {problem}")
    return rule


async def _create(
    call: AlertCall[Nothing, Any], rules: Rules, resource: Resource[Rule, AlertRecord]
) -> AlertRecord:
    rule = await _checked(call, new_id())

    async def work(session: MongoSession) -> None:
        await call.lock_authority("webhooks:write", session)
        await rules.create(rule, session)
        target = resource.audit_object(rule)
        await call.audit(f"{target.kind}.created", target, session=session)

    await run_in_turn(call.web.mongodb.database, call.account_id, work)
    return await resource.show(call, rule)


EXAMPLE_WEBHOOK: Final = "0190b5a2-7c1e-7d3f-8a4b-5c6d7e8f9a3e"
_ALERT: Final = {
    "name": "Clicks have stopped",
    "webhook_id": EXAMPLE_WEBHOOK,
    "rule": {
        "measure": "clicks",
        "filters": {"country": ["DE"]},
        "hours": 6,
        "condition": "below",
        "threshold": 10,
    },
}


@endpoint("GET", "/api/alerts", "webhooks:read")
async def list_alerts(call: AlertCall[AccountPage, Nothing]) -> Page[AlertRecord]:
    """List alerts, newest first."""
    return await ALERTS.list_page(call, call.services.alerts)


@endpoint("POST", "/api/alerts", "webhooks:write", example=_ALERT)
async def create_alert(call: AlertCall[Nothing, CreateAlert]) -> AlertRecord:
    """Tell a webhook when a measure is low, high or halved: needs reports:read too."""
    return await _create(call, call.services.alerts, ALERTS)


@endpoint("PUT", "/api/alerts/{id}", "webhooks:write", example=_ALERT, operation_id="replaceAlert")
async def change_alert(call: AlertCall[Nothing, CreateAlert]) -> AlertRecord:
    """Replace an alert: needs reports:read too."""
    before = await ALERTS.find(call)
    rule = replace(await _checked(call, before.id), created_at=before.created_at)

    async def work(session: MongoSession) -> None:
        await call.lock_authority("webhooks:write", session)
        await call.services.alerts.replace(rule, session)
        changes = differences(before, rule, _NOT_AUDITED)
        await call.audit("alert.changed", ALERTS.audit_object(rule), changes, session)

    await run_in_turn(call.web.mongodb.database, call.account_id, work)
    return await ALERTS.show(call, rule)


@endpoint("DELETE", "/api/alerts/{id}", "webhooks:write")
async def delete_alert(call: AlertCall[Nothing, Nothing]) -> Done:
    """Delete an alert."""
    return await _delete(call, call.services.alerts, ALERTS)


@endpoint("GET", "/api/summaries", "webhooks:read")
async def list_summaries(call: AlertCall[AccountPage, Nothing]) -> Page[AlertRecord]:
    """List summaries, newest first."""
    return await SUMMARIES.list_page(call, call.services.summaries)


@endpoint(
    "POST",
    "/api/summaries",
    "webhooks:write",
    example={
        "name": "Our week",
        "webhook_id": EXAMPLE_WEBHOOK,
        "rule": {"every": "week", "measure": "conversions", "groupBy": "link"},
    },
)
async def create_summary(call: AlertCall[Nothing, CreateSummary]) -> AlertRecord:
    """Tell a webhook the figures of every week or month: needs reports:read too."""
    return await _create(call, call.services.summaries, SUMMARIES)


@endpoint("DELETE", "/api/summaries/{id}", "webhooks:write")
async def delete_summary(call: AlertCall[Nothing, Nothing]) -> Done:
    """Delete a summary."""
    return await _delete(call, call.services.summaries, SUMMARIES)


async def _delete(
    call: AlertCall[Nothing, Nothing], rules: Rules, resource: Resource[Rule, AlertRecord]
) -> Done:
    rule = await resource.find(call)
    await rules.delete(rule.id)
    target = resource.audit_object(rule)
    await call.audit(f"{target.kind}.deleted", target)
    return Done()
