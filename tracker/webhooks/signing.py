"""Signatures of requests by Standard Webhooks, with the library of that name. Pure.

Every attempt is signed: its id stays the same, its timestamp is its own.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final
from urllib.parse import quote

from standardwebhooks import Webhook

from tracker.syntax.url import UrlParts, check_url
from tracker.webhooks.client import Request
from tracker.webhooks.limits import CACHED_TARGETS
from tracker.webhooks.payload import as_query
from tracker.webhooks.target import FIELD

_SAFE_IN_URL: Final = "".join(map(chr, range(ord("!"), ord("~") + 1)))


def signed_headers(
    delivery_id: str, timestamp_s: int, body: bytes, secrets: Sequence[str]
) -> dict[str, str]:
    """Return `webhook-id`, `webhook-timestamp` and `webhook-signature`, signed with each secret.

    `delivery_id` is hexadecimal, `timestamp_s` in seconds since the epoch, `body` UTF-8. `secrets`
    have the form `whsec_<base64>`, the current one first.
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
    target_url: str,
    payload: bytes,
    delivery_id: str,
    timestamp_s: int,
    secrets: Sequence[str],
) -> Request:
    """Return the request that delivers `payload`, with the headers of `signed_headers`.

    A GET request has no body: the payload is added to the target's query, and the whole query is
    signed as it is sent, without "?". Raises BadRequest if `target_url` is no URL.
    """
    url, query = _target(target_url)
    if method != "GET":
        headers = signed_headers(delivery_id, timestamp_s, payload, secrets)
        headers["Content-Type"] = "application/json"
        url += f"?{query}" if query else ""
        return Request(method=method, url=url, headers=headers, body=payload)
    query = "&".join(part for part in (query, as_query(payload)) if part)
    headers = signed_headers(delivery_id, timestamp_s, query.encode(), secrets)
    url += f"?{query}" if query else ""
    return Request(method=method, url=url, headers=headers, body=None)


@lru_cache(maxsize=CACHED_TARGETS)
def _target(target_url: str) -> tuple[str, str]:
    """Return a target without its query, and its query without "?"."""
    parts = check_url(FIELD, target_url)
    return _origin_and_path(parts), _escaped(parts.query)[1:]


def _origin_and_path(parts: UrlParts) -> str:
    """Return origin and path in ASCII; the canonical host is the one that certificates name."""
    host, port = parts.address
    scheme = parts.scheme.lower()
    shown_host = f"[{host}]" if ":" in host else host
    shown_port = "" if port == {"http": 80, "https": 443}[scheme] else f":{port}"
    return f"{scheme}://{shown_host}{shown_port}{_escaped(parts.path) or '/'}"


def _escaped(text: str) -> str:
    return quote(text, safe=_SAFE_IN_URL)
