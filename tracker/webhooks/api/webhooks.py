"""`/api/webhooks`: create, list, show, change and delete receivers of conversions."""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any, Final, TypeVar
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType

from tracker.access.audit import FieldChange, differences
from tracker.errors import BadRequest, RateLimited, Unavailable
from tracker.stores.mongodb.account_lock import run_in_turn
from tracker.stores.mongodb.transaction import MongoSession
from tracker.stores.secret_box import UnreadableSecret
from tracker.syntax.url import check_url
from tracker.web.call import Nothing, Owned
from tracker.web.endpoint import Endpoints
from tracker.web.resource import Resource, one_by_one, record_of
from tracker.web.schema import AccountPage, Done, Page, sent_fields
from tracker.webhooks import target
from tracker.webhooks.api.masking import masked
from tracker.webhooks.api.schema import (
    ChangeWebhook,
    CreatedWebhook,
    CreateWebhook,
    RotatedWebhook,
    ShownWebhook,
    WebhookRecord,
)
from tracker.webhooks.delivery import Kind
from tracker.webhooks.filters import Filter
from tracker.webhooks.payloads import template
from tracker.webhooks.payloads.target_template import check_target_macros
from tracker.webhooks.presets.ads import check_platform, expanded
from tracker.webhooks.presets.chat import check_preset
from tracker.webhooks.services import WebhookCall, WebhookServices
from tracker.webhooks.store import Webhook

endpoint = Endpoints("webhooks")

_NOT_AUDITED: Final = (
    "secret",
    "previous_secret",
    "previous_secret_until",
    "headers",
    "header_names",
    "failing_since",
    "disabled_reason",
    "disabled_at",
)
"""Secrets, fields that the service sets, and headers, which `_header_changes` reports."""

_WARNING_SECONDS: Final = 1.0

UNREADABLE: Final = "webhook: its secrets cannot be read; the operator has to set SECRET_KEY"

_WebhookRecord = TypeVar("_WebhookRecord", bound=WebhookRecord)


async def _check_target(services: WebhookServices, body: CreateWebhook | ChangeWebhook) -> None:
    """Check the rules that need no look-up. Called before access is checked."""
    if body.target_url is not UNSET:
        if isinstance(body, CreateWebhook):
            check_target_macros(body.target_url)
        allowed = services.allows_private, services.allows_http
        host, port = target.check_target(body.target_url, *allowed)
        if services.links.own_hosts.has(host, port):
            raise BadRequest(target.OWN_HOST)


async def _check_host(call: WebhookCall[Any, Any], url: str) -> list[str]:
    """Check the host by look-ups; return warnings. Called after access is checked."""
    services = call.services
    host, port = check_url(target.FIELD, url).address
    if await services.links.served_hosts.has(host, port):
        raise BadRequest(target.OWN_HOST)
    if services.allows_private:
        return []
    with services.links.dns_limiter.acquire(call.account_id):
        return await target.check_addresses(host, services.dns.resolve)


async def _host_warnings(call: WebhookCall[Any, Any], url: str) -> list[str]:
    """Return what `_check_host` objects to now, without making anybody wait for DNS."""
    try:
        async with asyncio.timeout(_WARNING_SECONDS):
            return await _check_host(call, url)
    except BadRequest as error:
        return [error.message]
    except (TimeoutError, RateLimited, Unavailable):
        return []


async def _check_ids(
    call: WebhookCall[Any, Any], sent: Filter | UnsetType | None, stored: Filter | None = None
) -> None:
    """Check the ids that are new in a filter. Raises Forbidden or NotFound."""
    of_configs, of_tags = call.services.event_configs.find_all, call.services.links.tags.find
    of_links: Any = call.services.links.links.find_all
    for name, find in (("event_config_ids", of_configs), ("tags", of_tags), ("links", of_links)):
        new = {*getattr(sent or Filter(), name)}.difference(getattr(stored, name, ()))
        found: Mapping[UUID, Owned] = await find(new)
        for one in new:
            call.check_owner(f"filter.{name}", found.get(one))


def _stored_filter(webhook: Webhook) -> Filter:
    return msgspec.json.decode(webhook.filter, type=Filter)


def _record_of(kind: type[_WebhookRecord], webhook: Webhook, **others: object) -> _WebhookRecord:
    payload_template = msgspec.Raw(webhook.payload_template.encode())
    others |= {"headers": dict.fromkeys(webhook.header_names), "filter": _stored_filter(webhook)}
    others["settings"] = msgspec.json.decode(webhook.settings)
    return record_of(kind, webhook, payload_template=payload_template, **others)


def _with_preset(webhook: Webhook, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields to change, with what follows from other settings. Raises BadRequest."""
    preset = fields.get("preset", webhook.preset)
    stored = msgspec.structs.asdict(webhook) | {"filter": _stored_filter(webhook)}
    for name in ("payload_template", "settings"):
        stored[name] = msgspec.json.decode(stored[name])
    settings = stored["settings"]
    if preset != webhook.preset:
        fields, settings = {"settings": {}, **fields}, None
    # The same settings leave a template as it was written since.
    if fields.get("settings", settings) != settings:
        fields = {**expanded(preset, fields["settings"]), **fields}
    if fields.keys() & {"preset", "payload_template", "method", "events", "filter"}:
        _check_presets({**stored, **fields})
    return fields


def _check_presets(webhook: Mapping[str, Any]) -> None:
    preset, made = webhook["preset"], webhook["payload_template"]
    check_preset(preset, made)
    statuses = (webhook["filter"] or Filter()).statuses
    check_platform(preset, webhook["method"], made or {}, webhook["events"], statuses)
    if Kind.CLICK_RECORDED in webhook["events"] and (preset or webhook["method"] == "GET"):
        raise BadRequest("events: click.recorded takes neither a preset nor GET")


WEBHOOKS: Resource[Webhook, WebhookRecord] = Resource(
    "webhook",
    lambda call: call.services.webhooks.find(call.ids[0]),
    one_by_one(partial(_record_of, WebhookRecord)),
)


@endpoint("GET", "/api/webhooks", "webhooks:read")
async def list_own(call: WebhookCall[AccountPage, Nothing]) -> Page[WebhookRecord]:
    """List webhooks, newest first."""
    page = await WEBHOOKS.list_page(call, call.services.webhooks)
    page.rows = [masked(call.principal, one) for one in page.rows]
    return page


@endpoint(
    "POST",
    "/api/webhooks",
    "webhooks:write",
    check=_check_target,
    example={
        "name": "Sales",
        "target_url": "https://example.com/hooks/conversions",
        "payload_template": {"id": "{click_id}", "amount": "{value}"},
    },
    idempotent=True,
)
async def create(call: WebhookCall[Nothing, CreateWebhook]) -> CreatedWebhook:
    """Create a webhook; only this answer has the signing secret."""
    body = call.body
    target_url = str(body.target_url)  # CreateWebhook has checked that there is one
    host, _ = check_url(target.FIELD, target_url).address
    _check_presets(msgspec.structs.asdict(body))
    warnings = await _check_host(call, target_url)
    await _check_ids(call, body.filter)

    async def answer(webhook: Webhook) -> CreatedWebhook:
        return _record_of(CreatedWebhook, webhook, warnings=warnings)

    async def record(session: MongoSession, webhook: Webhook) -> None:
        await call.lock_authority("webhooks:write", session)
        await call.audit("webhook.created", WEBHOOKS.audit_object(webhook), session=session)
        await call.keep(session, partial(answer, webhook))

    webhook = await call.services.webhooks.create(
        account_id=call.account_id,
        name=body.name or host,
        target_url=target_url,
        method=body.method,
        payload_template=template.DEFAULT_OF_CLICKS
        if body.payload_template is None and body.events == (Kind.CLICK_RECORDED,)
        else template.DEFAULT
        if body.payload_template is None
        else body.payload_template,
        events=body.events,
        headers=body.headers,
        conversions=body.filter,
        preset=body.preset,
        settings=body.settings,
        in_transaction=record,
    )
    return await answer(webhook)


@endpoint("GET", "/api/webhooks/{id}", "webhooks:read")
async def show(call: WebhookCall[Nothing, Nothing]) -> ShownWebhook:
    """Show a webhook."""
    return await _shown(call, await WEBHOOKS.find(call))


async def _shown(call: WebhookCall[Any, Any], webhook: Webhook) -> ShownWebhook:
    warnings = await _host_warnings(call, webhook.target_url)
    return masked(call.principal, _record_of(ShownWebhook, webhook, warnings=warnings))


@endpoint(
    "PATCH",
    "/api/webhooks/{id}",
    "webhooks:write",
    check=_check_target,
    example={"active": False},
)
async def change(call: WebhookCall[Nothing, ChangeWebhook]) -> ShownWebhook:
    """Change a webhook."""
    webhook, webhooks = await WEBHOOKS.find(call), call.services.webhooks
    fields = sent_fields(call.body)
    if not fields:
        return await _shown(call, webhook)
    fields = _with_preset(webhook, fields)
    if "target_url" in fields:
        if fields["target_url"] != webhook.target_url:  # it may be older than this rule
            check_target_macros(fields["target_url"])
        await _check_host(call, fields["target_url"])
    await _check_ids(call, call.body.filter, _stored_filter(webhook))

    async def work(session: MongoSession) -> Webhook | None:
        await call.lock_authority("webhooks:write", session)
        try:
            return await webhooks.change(webhook.id, fields, session)
        except UnreadableSecret:
            raise Unavailable(UNREADABLE) from None

    stored = await run_in_turn(call.web.mongodb.database, call.principal.actor.queue_key, work)
    changed = WEBHOOKS.checked(call, stored)
    named = _header_changes(webhook, changed, fields.get("headers", {}))
    if changes := {**differences(webhook, changed, _NOT_AUDITED), **named}:
        await call.audit("webhook.changed", WEBHOOKS.audit_object(changed), changes)
    return await _shown(call, changed)


def _header_changes(
    before: Webhook, after: Webhook, sent: Mapping[str, str | None]
) -> dict[str, FieldChange]:
    """Return header names before and after a change. New values are shown as `(set)`."""
    names = ", ".join(before.header_names)
    set_now = {name for name, value in sent.items() if value is not None}
    named = ", ".join(f"{one} (set)" if one in set_now else one for one in after.header_names)
    return {} if names == named else {"headers": FieldChange(before=names, after=named)}


@endpoint("DELETE", "/api/webhooks/{id}", "webhooks:write")
async def delete(call: WebhookCall[Nothing, Nothing]) -> Done:
    """Delete a webhook."""
    webhook = await WEBHOOKS.find(call)
    if await call.services.webhooks.delete(webhook.id):
        await call.audit("webhook.deleted", WEBHOOKS.audit_object(webhook))
    return Done()


@endpoint(
    "POST",
    "/api/webhooks/{id}/secret",
    "webhooks:write",
    operation_id="rotateWebhookSecret",
)
async def rotate_secret(call: WebhookCall[Nothing, Nothing]) -> RotatedWebhook:
    """Change a webhook's signing secret; only this answer has the new one. For a day both sign."""
    webhook = await WEBHOOKS.find(call)
    stored = await call.services.webhooks.rotate_secret(webhook.id)
    rotated = WEBHOOKS.checked(call, stored)
    await call.audit("webhook.secret_rotated", WEBHOOKS.audit_object(webhook))
    warnings = await _host_warnings(call, webhook.target_url)
    return _record_of(RotatedWebhook, rotated, warnings=warnings)
