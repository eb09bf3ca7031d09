"""Values of the macros of a payload, from the stored documents of one event. Pure.

Called when a delivery is first attempted.

- Every macro of `template.MACROS` has a value, None where nothing is known.
- Money is exact.

Guarantee: nothing of another account gets into a payload, whatever click an event names.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final
from urllib.parse import parse_qsl

import msgspec
from bson import Decimal128

from tracker.clicks import dimensions
from tracker.clock import iso
from tracker.syntax.strict_json import parse_json

_LINK_FIELDS: Final = ("slug", "internal_name", "destination_url")
_CONFIG_FIELDS: Final = ("payout_type", "pbk")

Document = Mapping[str, Any]


class Values(msgspec.Struct, frozen=True, kw_only=True):
    """The values of macros, each of a type that JSON has; numbers with a fraction are Decimal.

    `fields` has those of `template.MACROS`, `metadata` those of `{metadata.<key>}` by key (of the
    top level), `query` those of `{query.<name>}` by name (the first of a repeated one).
    """

    fields: Mapping[str, Any]
    metadata: Mapping[str, Any]
    query: Mapping[str, str]

    def get(self, macro: str) -> Any:
        """Return the value of `macro`, named as in `{macro}`; None if it has none."""
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
    """Return the values for `event`, from MongoDB documents as they are stored.

    `click`, `link` and `event_config` are those that the event names; None if it names none, or it
    is not stored. `tags` are the names of the link's tags. `base_host` is the host of links that
    have no domain of their own.
    """
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


def _own(document: Document | None, event: Document) -> Document | None:
    """Return `document`; None if it belongs to another account than the event."""
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
        "transaction_id": event.get("transaction_id"),
        "account_id": _text(event["account_id"]),
    }


def _click_fields(click: Document | None, event: Document, base_host: str) -> dict[str, Any]:
    """Return what the click tells; most is on the event too, if the click is no longer stored."""
    known = click or event
    at = known["at"] if click else event.get("click_at")
    domain_name = known.get("domain_name")
    return {
        "click_timestamp": None if at is None else iso(at),
        "link_id": _text(known.get("link_id")),
        "domain_name": base_host if domain_name == "" else domain_name,
        "referrer": (_decoded(click["referrer"]) or None) if click else None,
        **{name: known.get(name) for name in dimensions.NAMES},
    }


def _metadata(event: Document) -> dict[str, Any] | None:
    text = event["metadata"]
    if text is None:
        return None
    metadata: dict[str, Any] = parse_json("metadata", text.encode())
    return metadata


def _query(raw: str) -> dict[str, str]:
    pairs = parse_qsl(_decoded(raw), keep_blank_values=True, errors="replace")
    return dict(reversed(pairs))


def _decoded(raw: str) -> str:
    """Decode what a visitor sent, which is stored with one character for each byte."""
    return raw.encode("latin-1", errors="replace").decode(errors="replace")


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _money(value: Decimal128 | None) -> Decimal | None:
    return None if value is None else _decimal(value.bid)


@lru_cache(maxsize=10_000)
def _decimal(bid: bytes) -> Decimal:
    return Decimal128.from_bid(bid).to_decimal()
