"""Targets and templates in answers: whole only for principals that may write webhooks.

Receivers take secrets in both: a path that is one, a token in the payload.
"""

from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from tracker.access.principal import Principal
from tracker.webhooks.api.schema import WebhookRecord
from tracker.webhooks.headers import MASK, masked_texts
from tracker.webhooks.macros import split_at_macros

_WebhookRecord = TypeVar("_WebhookRecord", bound=WebhookRecord)


def may_read_targets(principal: Principal) -> bool:
    return principal.covers(["webhooks:write"])


def masked(principal: Principal, record: _WebhookRecord) -> _WebhookRecord:
    """Mask target and template of a record, unless the principal may read them."""
    if not may_read_targets(principal):
        record.target_url = masked_target(record.target_url)
        template = _masked_values(msgspec.json.decode(record.payload_template))
        record.payload_template = msgspec.Raw(msgspec.json.encode(template))
    return record


def masked_target(url: str) -> str:
    """Return a target with only its origin."""
    parts = urlsplit(url)
    is_origin = parts.path in ("", "/") and not parts.query
    return url if is_origin else f"{parts.scheme}://{parts.netloc}/{MASK}"


def _masked_values(value: Any) -> Any:
    """Mask all but names, macros, and what can hold no secret."""
    if isinstance(value, dict):
        return {name: _masked_values(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_masked_values(inner) for inner in value]
    if value is None or isinstance(value, bool):
        return value
    if not isinstance(value, str):
        return MASK
    parts = split_at_macros(value)
    parts[1::2] = [f"{{{name}}}" for name in parts[1::2]]
    return masked_texts(parts)
