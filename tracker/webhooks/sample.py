"""A sample event, so that the owner of a webhook sees at once what its receiver makes of it.

Sent by a request to the API, which waits for what comes back: so there is a bound on how many are
sent at once.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from uuid import UUID

from bson import Decimal128

from tracker.clock import now
from tracker.errors import RateLimited, Unavailable
from tracker.ids import new_id
from tracker.webhooks.client import SECONDS
from tracker.webhooks.payload import render
from tracker.webhooks.store import Webhook
from tracker.webhooks.values import Values, values_of

EVENT_ID: Final = 0
"""Of the sample: events have ids from 1, so a receiver takes it for none of them."""

OF_ACCOUNT: Final = 4
MOST: Final = 32
"""Samples that a process sends at once, for one account and in all."""


class Samples:
    """Those that this process is sending."""

    def __init__(self) -> None:
        self._of_account: Counter[UUID] = Counter()

    @contextmanager
    def place(self, account_id: UUID) -> Iterator[None]:
        """That of one sample while it is sent. Raises RateLimited if the account has OF_ACCOUNT,
        Unavailable if there are MOST."""
        if self._of_account[account_id] >= OF_ACCOUNT:
            message = f"webhook: {OF_ACCOUNT} tests of the account are under way; try again"
            raise RateLimited(message, round(SECONDS))
        if self._of_account.total() >= MOST:
            raise Unavailable("webhook: too many tests are under way; try again")
        self._of_account[account_id] += 1
        try:
            yield
        finally:
            self._of_account[account_id] -= 1
            self._of_account += Counter()  # without those that have none


def sample_payload(webhook: Webhook, base_host: str) -> bytes:
    """The webhook's payload for the sample event."""
    return render(webhook.payload_template, _values(webhook, base_host))


def _values(webhook: Webhook, base_host: str) -> Values:
    owned: dict[str, Any] = {"account_id": webhook.account_id}
    link_id, at = new_id(), now()
    visitor = {
        "domain_name": "",
        "country": "DE",
        "device": "desktop",
        "browser": "Chrome",
        "os": "Windows",
    }
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
