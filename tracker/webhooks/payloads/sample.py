"""A sample conversion, to test a webhook and to preview a template."""

from typing import Any, Final
from uuid import UUID

from bson import Decimal128

from tracker.clicks.enrich import AD_IDS
from tracker.clock import now
from tracker.conversions.corrections.status import Status
from tracker.ids import new_id
from tracker.links.link import Link
from tracker.visitor_dimensions import DIMENSIONS
from tracker.webhooks.delivery import Kind
from tracker.webhooks.macros import ALL_MACROS, Unfillable, as_text
from tracker.webhooks.operational_messages import webhook_disabled
from tracker.webhooks.payloads.content import (
    DeliveryContent,
    filled_content,
    list_of_clicks,
    macros_of,
    rendered,
    texts_of,
)
from tracker.webhooks.payloads.values import MacroValues, of_click, values_of
from tracker.webhooks.presets.ads import PLATFORMS, as_test
from tracker.webhooks.presets.chat import as_chat
from tracker.webhooks.schedule import Disabled
from tracker.webhooks.store import Webhook
from tracker.webhooks.subscriptions.links import link_message

_LINK: Final[dict[str, Any]] = {
    "slug": "sample",
    "internal_name": "Sample",
    "destination_url": "https://example.com/landing",
}


def sample_content(webhook: Webhook, kind: Kind | None, base_host: str) -> DeliveryContent:
    """Return a sample event of `kind`; of None, the first kind that the webhook subscribes to.

    It is a conversion, a changed one, a click, or for all other kinds a message. Raises Unfillable
    if it cannot be sent.
    """
    kind = webhook.events[0] if kind is None else kind
    if kind in (Kind.CONVERSION, Kind.CONVERSION_UPDATED):
        is_updated = kind is Kind.CONVERSION_UPDATED
        values = sample_values(webhook.account_id, base_host, is_updated)
        payload = as_test(webhook.preset, rendered(webhook, values), webhook.settings)
        return filled_content(webhook, payload, texts_of(values, macros_of(webhook)))
    if webhook.preset in PLATFORMS:
        raise Unfillable("event: an ad platform takes conversions")
    if kind is Kind.CLICK_RECORDED:
        values = of_click(sample_values(webhook.account_id, base_host))
        return filled_content(webhook, list_of_clicks([rendered(webhook, values)], 0), {})
    sample = webhook_disabled(new_id(), webhook.account_id, "Sample", Disabled.FAILING, now())
    message = sample.payload()
    if kind in (Kind.LINK_CREATED, Kind.LINK_CHANGED):
        changed = ["internal_name"] if kind is Kind.LINK_CHANGED else []
        fields: dict[str, Any] = {**_LINK, "account_id": webhook.account_id, "tags": []}
        fields |= {"domain_id": None, "domain_name": "", "version": 1}
        link = Link(id=new_id(), created_at=now(), **fields)
        message = link_message(kind, link, changed, base_host)
    payload = as_chat(webhook.preset, webhook.payload_template, message)
    return filled_content(webhook, payload, {})


def sample_texts(values: MacroValues) -> dict[str, str]:
    """Return each macro's text, by its name or pattern."""
    named = {
        "metadata.<key>": next(iter(values.metadata.values())),
        "query.<name>": next(iter(values.query.values())),
        "parameter:<name>": next(iter(values.parameters.values())),
        "bot": "crawler",
        "<macro>|lower": values.get("country|lower"),
        "<macro>|upper": values.get("device|upper"),
        "<macro>|text": values.get("value|text"),
        "<macro>|digits": values.get("conversion_timestamp|digits"),
        "<macro>|phone": values.get("event_id|phone"),
        "<macro>|page": values.get("destination_url|page"),
        "<macro>|sha256": values.get("transaction_id|sha256"),
        "<macro>|list": values.get("transaction_id|list"),
        "<timestamp>|seconds": values.get("conversion_timestamp|seconds"),
        "<timestamp>|offset": values.get("conversion_timestamp|offset"),
    }
    return {name: as_text(named.get(name, values.get(name))) for name in ALL_MACROS}


def sample_values(account_id: UUID, base_host: str, is_updated: bool = True) -> MacroValues:
    """Return the values of a sample conversion. `base_host` is the host of the default domain."""
    change = {
        "reported": Status.REFUNDED,
        "refunded_value": Decimal128("19.99"),
        "previous": {"value": Decimal128("19.99"), "payout": Decimal128("2.50")},
        "reason": "customer_refund",
    }
    owned: dict[str, Any] = {"account_id": account_id}
    at = now()
    conversion = {
        **owned,
        "_id": 0,  # stored conversions have ids from 1
        "at": at,
        "click_id": new_id(),
        "value": Decimal128("19.99"),
        "payout": Decimal128("2.50"),
        "metadata": '{"sample":true}',
        "transaction_id": "sample",
        "currency": "EUR",
        **(change if is_updated else {}),
    }
    click = {
        **owned,
        **{dimension.name: dimension.sample for dimension in DIMENSIONS},
        "domain_name": "",
        "at": at,
        "link_id": new_id(),
        "referrer": "https://example.com/",
        "query": "utm_source=sample",
        "user_agent": "Sample",
        "address": "192.0.2.1",
        "ad_ids": dict.fromkeys(AD_IDS, "sample"),
        "consent": "granted",
        "unique": True,
        "parameter_0": "sub1=sample",
    }
    link = {**owned, **_LINK}
    config = {**owned, "name": "Sample", "payout_type": "CPA", "pbk": "sample"}
    return values_of(conversion, click, link, config, ["sample"], base_host)
