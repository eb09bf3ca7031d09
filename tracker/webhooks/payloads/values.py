"""The values of macros, from the stored documents of one conversion. Pure.

Every macro of `macros` has a value, or None. Money is exact.

Guarantee: a payload never has data of another account, whatever click the conversion names.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Final
from urllib.parse import parse_qsl

import msgspec
from bson import Decimal128
from msgspec.structs import replace

from tracker import visitor_dimensions
from tracker.clicks.document import decoded, sent_parameters
from tracker.clicks.enrich import AD_IDS
from tracker.clock import iso
from tracker.conversions.corrections.status import Status, is_click_key
from tracker.syntax.strict_json import parse_json
from tracker.webhooks.macros import OF_CONVERSIONS, name_and_forms

_LINK_FIELDS: Final = ("slug", "internal_name", "destination_url")
_CONFIG_FIELDS: Final = ("payout_type", "pbk")

MongoDocument = Mapping[str, Any]


class MacroValues(msgspec.Struct, frozen=True, kw_only=True):
    """The values of macros, of JSON's types; numbers with a fraction are Decimal.

    `query` has the first value of a repeated parameter.
    """

    fields: Mapping[str, Any]
    metadata: Mapping[str, Any]
    query: Mapping[str, str]
    parameters: Mapping[str, str] = {}

    def get(self, macro: str) -> Any:
        """Return a macro's value in the form that it asks for, or None."""
        name, forms = name_and_forms(macro)
        value = self._named(name)
        for form in forms:
            value = None if value is None else form(value)
        return value

    def _named(self, macro: str) -> Any:
        if macro in self.fields:
            return self.fields[macro]
        if macro.startswith("parameter:"):
            return self.parameters.get(macro.removeprefix("parameter:"))
        prefix, _, name = macro.partition(".")
        return self.query.get(name) if prefix == "query" else _at_path(self.metadata, name)


def values_of(
    conversion: MongoDocument,
    click: MongoDocument | None,
    link: MongoDocument | None,
    event_config: MongoDocument | None,
    tags: Sequence[str],
    base_host: str,
) -> MacroValues:
    """Return the values for `conversion`, from documents as stored; `tags` are names.

    If it was changed, the conversion has `previous` values, and may have a `reason`.
    """
    click, link, event_config = (_own(one, conversion) for one in (click, link, event_config))
    metadata = _metadata(conversion)
    fields = {
        **_conversion_fields(conversion),
        **_click_fields(click, conversion, base_host),
        **_ad_fields(conversion, click or {}),
        **{name: (link or {}).get(name) for name in _LINK_FIELDS},
        **{name: (event_config or {}).get(name) for name in _CONFIG_FIELDS},
        "event_name": (event_config or {}).get("name"),
        "tags": None if link is None else list(tags),
        "metadata": metadata,
    }
    query = _query(click["query"]) if click else {}
    return MacroValues(
        fields=fields,
        metadata=metadata or {},
        query=query,
        parameters=sent_parameters(click or conversion),
    )


def of_click(values: MacroValues) -> MacroValues:
    """Return the values of a click alone: macros of conversions have none."""
    return replace(values, fields={**values.fields, **dict.fromkeys(OF_CONVERSIONS)}, metadata={})


def _at_path(metadata: Mapping[str, Any], name: str) -> Any:
    """Return the field of that name, else the nested one that `a.b` leads to, else None."""
    if name in metadata:
        return metadata[name]
    value: Any = metadata
    for key in name.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _own(document: MongoDocument | None, conversion: MongoDocument) -> MongoDocument | None:
    """Hide a document of another account."""
    if document is None or document["account_id"] != conversion["account_id"]:
        return None
    return document


def _conversion_fields(conversion: MongoDocument) -> dict[str, Any]:
    return {
        # MongoDB returns large numbers in a type of its own.
        "event_id": int(conversion["_id"]),
        "click_id": _text(conversion["click_id"]),
        **_state("", conversion),
        "currency": conversion.get("currency"),
        "refunded_value": _money(conversion.get("refunded_value")),
        **_state("previous_", conversion.get("previous")),
        "reason": conversion.get("reason"),
        "conversion_timestamp": iso(conversion["at"]),
        "conversion_timestamp_unix": _unix_seconds(conversion["at"]),
        "transaction_id": _transaction_id(conversion),
        "account_id": _text(conversion["account_id"]),
    }


def _transaction_id(conversion: MongoDocument) -> str | None:
    found: str | None = conversion.get("transaction_id")
    return None if is_click_key(found or "") else found


def _state(prefix: str, state: MongoDocument | None) -> dict[str, Any]:
    given = state or {}
    return {
        f"{prefix}status": None if state is None else given.get("reported") or Status.APPROVED,
        f"{prefix}value": _money(given.get("value")),
        f"{prefix}payout": _money(given.get("payout")),
    }


def _click_fields(
    click: MongoDocument | None, conversion: MongoDocument, base_host: str
) -> dict[str, Any]:
    """Return the click's fields; the conversion has most of them if the click has expired."""
    source = click or conversion
    at = source["at"] if click else conversion.get("click_at")
    domain_name = source.get("domain_name")
    return {
        "click_timestamp": None if at is None else iso(at),
        "click_timestamp_unix": None if at is None else _unix_seconds(at),
        "link_id": _text(source.get("link_id")),
        "domain_name": base_host if domain_name == "" else domain_name,
        "referrer": (decoded(click["referrer"]) or None) if click else None,
        "bot": source.get("bot"),
        "unique": source.get("unique"),
        "click_query": decoded(click["query"]) if click else None,
        **{name: source.get(name) for name in visitor_dimensions.NAMES},
    }


def _ad_fields(conversion: MongoDocument, click: MongoDocument) -> dict[str, Any]:
    ids = click.get("ad_ids", {})
    fbclid, value = ids.get("fbclid"), _money(conversion.get("value"))
    refunded = _money(conversion.get("refunded_value")) or 0
    return {
        "dedup_id": _transaction_id(conversion) or str(int(conversion["_id"])),
        "net_value": None if value is None else value - refunded,
        "consent": conversion.get("consent") or click.get("consent"),
        "click_address": click.get("address"),
        "click_user_agent": decoded(click["user_agent"]) or None if click else None,
        "fbc": fbclid and f"fb.1.{int(click['at'].timestamp() * 1000)}.{fbclid}",
        **{name: ids.get(name) for name in AD_IDS},
    }


def _metadata(conversion: MongoDocument) -> dict[str, Any] | None:
    text = conversion["metadata"]
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
    return None if value is None else value.to_decimal()
