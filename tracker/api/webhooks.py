"""`/api/webhooks`: create, list, show, change and delete receivers of conversions."""

from functools import partial
from typing import Any, Final, TypeVar

import msgspec
from msgspec import UNSET

from tracker.access.audit import Target, differences
from tracker.api.endpoint import Call, Endpoint, Nothing
from tracker.api.resource import Resource, one_by_one, record_of
from tracker.api.schema import AccountPage, Done, Page, sent_fields
from tracker.api.services import Services
from tracker.api.webhook_schema import (
    ChangeWebhook,
    CreatedWebhook,
    CreateWebhook,
    RotatedWebhook,
    WebhookRecord,
)
from tracker.db.account_lock import run_in_turn
from tracker.db.transaction import Session
from tracker.errors import BadRequest
from tracker.syntax.url import check_url
from tracker.webhooks import target, template
from tracker.webhooks.store import Webhook

_NOT_AUDITED: Final = (
    "secret",
    "previous_secret",
    "previous_secret_until",
    "failing_since",
    "disabled_reason",
    "disabled_at",
)
"""Secrets, and what the service notes by itself."""

_WebhookRecord = TypeVar("_WebhookRecord", bound=WebhookRecord)


async def _check_target(services: Services, body: CreateWebhook | ChangeWebhook) -> None:
    """Check the rules of a target that need no look-up. Access is checked afterwards.

    Raises BadRequest if the target breaks one.
    """
    if body.target_url is not UNSET:
        target.check_https(body.target_url, services.settings.http_targets_allowed)
        allow_private = services.settings.webhook_allow_private
        host, port = target.check_target(body.target_url, allow_private)
        if services.own_hosts.has(host, port):
            raise BadRequest(target.OWN_HOST)


async def _check_host(call: Call[Any, Any], url: str) -> None:
    """Check the host of a target by look-ups, after access is checked.

    Raises BadRequest if it is not allowed; RateLimited or Unavailable if too many look-ups are in
    progress.
    """
    services = call.services
    host, port = check_url(target.FIELD, url).address
    if await services.own_hosts.serves(host, port):
        raise BadRequest(target.OWN_HOST)
    if not services.settings.webhook_allow_private:
        with services.dns_limiter.acquire(call.account_id):
            await target.check_addresses(host, services.dns.resolve)


def _record_of(kind: type[_WebhookRecord], webhook: Webhook) -> _WebhookRecord:
    payload_template = msgspec.Raw(webhook.payload_template.encode())
    return record_of(kind, webhook, payload_template=payload_template)


WEBHOOKS: Resource[Webhook, WebhookRecord] = Resource(
    "webhook",
    lambda call: call.services.webhooks.find(call.ids[0]),
    one_by_one(partial(_record_of, WebhookRecord)),
)


async def create(call: Call[Nothing, CreateWebhook]) -> CreatedWebhook:
    """Create a webhook, and return it with its secret.

    Raises BadRequest if its target is not allowed; RateLimited or Unavailable if too many look-ups
    are in progress.
    """
    body = call.body
    host, _ = check_url(target.FIELD, body.target_url).address
    await _check_host(call, body.target_url)
    webhook = await call.services.webhooks.create(
        account_id=call.account_id,
        name=body.name or host,
        target_url=body.target_url,
        method=body.method,
        payload_template=template.DEFAULT
        if body.payload_template is None
        else body.payload_template,
        events=body.events,
        approve=partial(call.hold, "webhooks:write"),
    )
    await call.audit("webhook.created", target_of(webhook))
    return _record_of(CreatedWebhook, webhook)


async def change(call: Call[Nothing, ChangeWebhook]) -> WebhookRecord:
    """Change the fields of a webhook that were sent.

    Raises NotFound or Forbidden if the account has no such webhook; BadRequest, RateLimited or
    Unavailable as `create` does.
    """
    webhook, webhooks = await WEBHOOKS.own(call), call.services.webhooks
    fields = sent_fields(call.body)
    if not fields:
        return await WEBHOOKS.show(call, webhook)
    if "target_url" in fields:
        await _check_host(call, fields["target_url"])

    async def work(session: Session) -> Webhook | None:
        await call.hold("webhooks:write", session)
        return await webhooks.change(webhook.id, fields, session)

    stored = await run_in_turn(call.services.database, call.principal.turn, work)
    changed = WEBHOOKS.checked(call, stored)
    if changes := differences(webhook, changed, _NOT_AUDITED):
        await call.audit("webhook.changed", target_of(changed), changes)
    return await WEBHOOKS.show(call, changed)


async def rotate_secret(call: Call[Nothing, Nothing]) -> RotatedWebhook:
    """Give a webhook a new secret, and return it with the time at which the previous one ends.

    Raises NotFound or Forbidden if the account has no such webhook.
    """
    webhook = await WEBHOOKS.own(call)
    stored = await call.services.webhooks.rotate_secret(webhook.id)
    rotated = WEBHOOKS.checked(call, stored)
    await call.audit("webhook.secret_rotated", target_of(webhook))
    return _record_of(RotatedWebhook, rotated)


async def delete(call: Call[Nothing, Nothing]) -> Done:
    """Delete a webhook. Raises NotFound or Forbidden if the account has no such webhook."""
    webhook = await WEBHOOKS.own(call)
    if await call.services.webhooks.delete(webhook.id):
        await call.audit("webhook.deleted", target_of(webhook))
    return Done()


def target_of(webhook: Webhook) -> Target:
    """Return a webhook as the audit log names it."""
    return Target(kind="webhook", id=webhook.id, name=webhook.name)


ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/webhooks",
        "webhooks:read",
        WEBHOOKS.lister(lambda services: services.webhooks),
        "List webhooks, newest first",
        Page[WebhookRecord],
        query=AccountPage,
    ),
    Endpoint(
        "POST",
        "/api/webhooks",
        "webhooks:write",
        create,
        "Create a webhook; the signing secret is in this answer only",
        CreatedWebhook,
        body=CreateWebhook,
        check=_check_target,
        example={
            "name": "Sales",
            "target_url": "https://example.com/hooks/conversions",
            "payload_template": {"id": "{click_id}", "amount": "{value}"},
        },
    ),
    Endpoint(
        "GET",
        "/api/webhooks/{id}",
        "webhooks:read",
        WEBHOOKS.show_own,
        "Show a webhook",
        WebhookRecord,
    ),
    Endpoint(
        "PATCH",
        "/api/webhooks/{id}",
        "webhooks:write",
        change,
        "Change a webhook",
        WebhookRecord,
        body=ChangeWebhook,
        check=_check_target,
        example={"active": False},
    ),
    Endpoint("DELETE", "/api/webhooks/{id}", "webhooks:write", delete, "Delete a webhook", Done),
    Endpoint(
        "POST",
        "/api/webhooks/{id}/secret",
        "webhooks:write",
        rotate_secret,
        "Change a webhook's signing secret; the new one is in this answer only, and the previous "
        "one signs too for a day",
        RotatedWebhook,
    ),
)
