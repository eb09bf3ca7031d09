"""Values of the macros of a payload, from the stored documents of one event. Pure.

Every macro of `macros.MACROS` has a value; None if it is unknown. Money is exact.

Guarantee: a payload never has data of another account, whatever click the event names.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final
from urllib.parse import parse_qsl

import msgspec
from bson import Decimal128

from tracker import visitor_dimensions
from tracker.clicks.document import decoded
from tracker.clock import iso
from tracker.syntax.strict_json import parse_json
from tracker.webhooks.limits import CACHED_AMOUNTS
from tracker.webhooks.macros import name_and_case

_LINK_FIELDS: Final = ("slug", "internal_name", "destination_url")
_CONFIG_FIELDS: Final = ("payout_type", "pbk")

Document = Mapping[str, Any]


class Values(msgspec.Struct, frozen=True, kw_only=True):
    """The values of macros, of types that JSON has; numbers with a fraction are Decimal.

    `metadata` has the keys of the top level. `query` has the first of a repeated parameter.
    """

    fields: Mapping[str, Any]
    metadata: Mapping[str, Any]
    query: Mapping[str, str]

    def get(self, macro: str) -> Any:
        """Return a macro's value or None. A case applies to a text and to the texts of a list."""
        name, change_case = name_and_case(macro)
        value = self._named(name)
        return value if change_case is None else _in_case(value, change_case)

    def _named(self, macro: str) -> Any:
        if macro in self.fields:
            return self.fields[macro]
        prefix, _, name = macro.partition(".")
        return {"metadata": self.metadata, "query": self.query}.get(prefix, {}).get(name)


def values_of(
    event: Document,
    click: Document | None,
    link: Document | None,
    event_config: Document | None,
    tags: Sequence[str],
    base_host: str,
) -> Values:
    """Return the values for `event`, from documents as stored; `tags` are names."""
    click, link, event_config = (_own(one, event) for one in (click, link, event_config))
    metadata = _metadata(event)
    fields = {
        **_event_fields(event),
        **_click_fields(click, event, base_host),
        **{name: (link or {}).get(name) for name in _LINK_FIELDS},
        **{name: (event_config or {}).get(name) for name in _CONFIG_FIELDS},
        "event_name": (event_config or {}).get("name"),
        "tags": None if link is None else list(tags),
        "metadata": metadata,
    }
    query = _query(click["query"]) if click else {}
    return Values(fields=fields, metadata=metadata or {}, query=query)


def _in_case(value: Any, change_case: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change_case(value)
    if isinstance(value, list):
        return [_in_case(one, change_case) for one in value]
    return value


def _own(document: Document | None, event: Document) -> Document | None:
    """Hide a document of another account."""
    if document is None or document["account_id"] != event["account_id"]:
        return None
    return document


def _event_fields(event: Document) -> dict[str, Any]:
    return {
        # MongoDB returns large numbers in a type of its own.
        "event_id": int(event["_id"]),
        "click_id": _text(event["click_id"]),
        "value": _money(event["value"]),
        "payout": _money(event["payout"]),
        "conversion_timestamp": iso(event["at"]),
        "conversion_timestamp_unix": _unix_seconds(event["at"]),
        "transaction_id": event.get("transaction_id"),
        "account_id": _text(event["account_id"]),
    }


def _click_fields(click: Document | None, event: Document, base_host: str) -> dict[str, Any]:
    """Return the click's fields; the event has most of them if the click has expired."""
    source = click or event
    at = source["at"] if click else event.get("click_at")
    domain_name = source.get("domain_name")
    return {
        "click_timestamp": None if at is None else iso(at),
        "click_timestamp_unix": None if at is None else _unix_seconds(at),
        "link_id": _text(source.get("link_id")),
        "domain_name": base_host if domain_name == "" else domain_name,
        "referrer": (decoded(click["referrer"]) or None) if click else None,
        **{name: source.get(name) for name in visitor_dimensions.NAMES},
    }


def _metadata(event: Document) -> dict[str, Any] | None:
    text = event["metadata"]
    if text is None:
        return None
    metadata: dict[str, Any] = parse_json("metadata", text.encode())
    return metadata


def _query(raw: str) -> dict[str, str]:
    pairs = parse_qsl(decoded(raw), keep_blank_values=True, errors="replace")
    return dict(reversed(pairs))


def _unix_seconds(at: datetime) -> int:
    return int(at.timestamp())


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _money(value: Decimal128 | None) -> Decimal | None:
    return None if value is None else _decimal(value.bid)


@lru_cache(maxsize=CACHED_AMOUNTS)
def _decimal(bid: bytes) -> Decimal:
    return Decimal128.from_bid(bid).to_decimal()
