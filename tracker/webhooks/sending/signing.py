"""Signatures of requests by Standard Webhooks. Each attempt has its own timestamp. Pure."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType

from standardwebhooks import Webhook

from tracker.webhooks.payloads.payload import as_query
from tracker.webhooks.sending.client import WebhookRequest


def signed_headers(
    delivery_id: str, timestamp_s: int, body: bytes, secrets: Sequence[str]
) -> dict[str, str]:
    """Return the headers `webhook-*`, with one signature per secret.

    `delivery_id` is hexadecimal, `body` UTF-8. Secrets are `whsec_<base64>`, the current one first.
    """
    message_id = f"msg_{delivery_id}"
    at, text = datetime.fromtimestamp(timestamp_s, UTC), body.decode()
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp_s),
        "webhook-signature": " ".join(
            Webhook(secret).sign(message_id, at, text) for secret in secrets
        ),
    }


def signed_request(
    method: str,
    url: str,
    payload: bytes,
    delivery_id: str,
    timestamp_s: int,
    secrets: Sequence[str],
    extra_headers: Mapping[str, str] = MappingProxyType({}),
) -> WebhookRequest:
    """Return the request that delivers `payload` to `url`, which is ASCII.

    A GET has no body. The payload is added to the query, which is signed as sent, without "?".
    """
    headers, body, signed = {**extra_headers}, None, payload
    if method == "GET":
        base, _, query = url.partition("?")
        query = "&".join(part for part in (query, as_query(payload)) if part)
        url, signed = f"{base}?{query}" if query else base, query.encode()
    else:
        headers["Content-Type"], body = "application/json", payload
    headers |= signed_headers(delivery_id, timestamp_s, signed, secrets)
    return WebhookRequest(method=method, url=url, headers=headers, body=body)
