"""Requests for webhooks."""

from typing import Any
from uuid import UUID

from tests.web.client import Response
from tests.web.keyed_client import KeyedClient

PATH = "/api/webhooks"
TARGET = "https://8.8.8.8/hook?key=1"
FIELDS = [
    *("id", "account_id", "name", "target_url", "method", "payload_template", "preset"),
    *(
        "settings",
        "headers",
        "events",
        "filter",
        "active",
        "disabled_reason",
        "disabled_at",
        "failing_since",
        "created_at",
    ),
]
PRIVATE = (
    "target_url: must not be in a private network, unless the operator sets "
    "WEBHOOK_ALLOW_PRIVATE=true, as in a trial"
)


async def create(api: KeyedClient, account_id: UUID, **fields: Any) -> Response:
    return await api.post(PATH, **{"account_id": str(account_id), "target_url": TARGET, **fields})
