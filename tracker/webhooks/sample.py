"""A sample event, so that the owner of a webhook sees at once what its receiver makes of it.

Sent by a request to the API, which waits for what comes back: so there is a bound on how many are
sent at once.
"""

from typing import Any, Final

from bson import Decimal128

from tracker.clicks.dimensions import DIMENSIONS
from tracker.clock import now
from tracker.ids import new_id
from tracker.limits.account_limiter import AccountLimiter
from tracker.webhooks.client import SECONDS
from tracker.webhooks.delivery import Kind
from tracker.webhooks.operational import webhook_disabled
from tracker.webhooks.payload import render
from tracker.webhooks.schedule import Disabled
from tracker.webhooks.store import Webhook
from tracker.webhooks.values import Values, values_of

EVENT_ID: Final = 0
"""Of the sample: events have ids from 1, so a receiver takes it for none of them."""

OF_ACCOUNT: Final = 4
MOST: Final = 32
"""Samples that a process sends at once, for one account and in all."""


def sample_limiter() -> AccountLimiter:
    """Make the bound on the samples that this process sends."""
    return AccountLimiter("webhook", "tests", OF_ACCOUNT, MOST, SECONDS)


def sample_payload(webhook: Webhook, base_host: str) -> bytes:
    """The webhook's payload for the sample event; that one of its webhooks is disabled, if it does
    not ask for conversions."""
    if Kind.CONVERSION in webhook.events:
        return render(webhook.payload_template, _values(webhook, base_host))
    sample = webhook_disabled(new_id(), webhook.account_id, "Sample", Disabled.FAILING, now())
    return sample.payload().encode()


def _values(webhook: Webhook, base_host: str) -> Values:
    owned: dict[str, Any] = {"account_id": webhook.account_id}
    link_id, at = new_id(), now()
    visitor = {dimension.name: dimension.sample for dimension in DIMENSIONS}
    event = {
        **owned,
        "_id": EVENT_ID,
        "at": at,
        "click_id": new_id(),
        "value": Decimal128("19.99"),
        "payout": Decimal128("2.50"),
        "metadata": '{"sample":true}',
        "transaction_id": "sample",
    }
    click = {
        **owned,
        **visitor,
        "domain_name": "",
        "at": at,
        "link_id": link_id,
        "referrer": "https://example.com/",
        "query": "utm_source=sample",
    }
    link = {
        **owned,
        "slug": "sample",
        "internal_name": "Sample",
        "destination_url": "https://example.com/landing",
    }
    config = {**owned, "name": "Sample", "payout_type": "CPA", "pbk": "sample"}
    return values_of(event, click, link, config, ["sample"], base_host)
