"""What the macros of a payload stand for, from the stored documents of one event. Pure.

Called when a delivery is first attempted. Guarantees that every macro of `template.MACROS` has a
value, None where nothing is known; that money is exact; and that nothing of another account gets
in, whatever click an event names.
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

_OF_LINK: Final = ("slug", "internal_name", "destination_url")
_OF_CONFIG: Final = ("payout_type", "pbk")

Document = Mapping[str, Any]


class Values(msgspec.Struct, frozen=True, kw_only=True):
    """Values by macro, each of a type that JSON has; numbers with a fraction are Decimal.

    `fields` has those of `template.MACROS`, `metadata` those of `{metadata.<key>}` by key (of the
    top level), `query` those of `{query.<name>}` by name (the first of a repeated one).
    """

    fields: Mapping[str, Any]
    metadata: Mapping[str, Any]
    query: Mapping[str, str]

    def get(self, macro: str) -> Any:
        """The value of `macro`, named as in `{macro}`; None if it has none."""
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
    """The values for `event`, from MongoDB documents as they are stored.

    `click`, `link` and `event_config` are those that the event names, None if it names none or
    they are not there. `tags` are the names of the link's tags. `base_host` is the host of links
    that have no domain of their own.
    """
    click, link, event_config = (_own(one, event) for one in (click, link, event_config))
    metadata = _metadata(event)
    fields = {
        **_of_event(event),
        **_of_click(click, event, base_host),
        **{name: (link or {}).get(name) for name in _OF_LINK},
        **{name: (event_config or {}).get(name) for name in _OF_CONFIG},
        "event_name": (event_config or {}).get("name"),
        "tags": None if link is None else list(tags),
        "metadata": metadata,
    }
    query = _query(click["query"]) if click else {}
    return Values(fields=fields, metadata=metadata or {}, query=query)


def _own(document: Document | None, event: Document) -> Document | None:
    """None if it belongs to another account than the event."""
    if document is None or document["account_id"] != event["account_id"]:
        return None
    return document


def _of_event(event: Document) -> dict[str, Any]:
    return {
        # Of a large number MongoDB makes a type of its own.
        "event_id": int(event["_id"]),
        "click_id": _text(event["click_id"]),
        "value": _money(event["value"]),
        "payout": _money(event["payout"]),
        "conversion_timestamp": iso(event["at"]),
        "transaction_id": event.get("transaction_id"),
        "account_id": _text(event["account_id"]),
    }


def _of_click(click: Document | None, event: Document, base_host: str) -> dict[str, Any]:
    """From the event, which keeps most of it, where the click is no longer stored."""
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
    """What a visitor sent is stored with one character for each byte."""
    return raw.encode("latin-1", errors="replace").decode(errors="replace")


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _money(value: Decimal128 | None) -> Decimal | None:
    return None if value is None else _decimal(value.bid)


@lru_cache(maxsize=10_000)
def _decimal(bid: bytes) -> Decimal:
    return Decimal128.from_bid(bid).to_decimal()
