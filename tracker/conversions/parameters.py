"""What a sender says of a conversion, from a query, a form or a JSON body. Pure.

Unknown parameters are ignored, for networks send their own; an empty one counts as not sent, for
networks leave the macros empty that they cannot fill. Each broken rule raises BadRequest naming
the field.
"""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qsl
from uuid import UUID

import msgspec

from tracker.errors import BadRequest
from tracker.ids import parse_id
from tracker.syntax.strict_json import is_deeper, parse_json

METADATA_BYTES = 16 * 1024
METADATA_DEPTH = 8
TRANSACTION_ID_LENGTH = 255
PBK_LENGTH = 128
_VALUE_BOUND = Decimal(10) ** 15
_VALUE_DIGITS = 30
_FIELDS = 200

# One way only to match any text, so that a long one is refused in linear time.
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
_TO_JSON = msgspec.json.Encoder(decimal_format="number")


class Conversion(msgspec.Struct, frozen=True, kw_only=True):
    """Checked. `metadata` is JSON text."""

    pbk: str | None
    click_id: UUID | None
    value: Decimal | None
    metadata: str | None
    transaction_id: str | None


def from_text(raw: bytes) -> Conversion:
    """From a query string or a form; of a repeated parameter the first counts.

    What is not UTF-8 is kept as surrogates, which the rules of each field refuse: in a parameter
    that is ignored it does no harm.
    """
    try:
        text = raw.decode(errors="surrogateescape")
        pairs = _pairs(text)
    except ValueError as error:
        raise BadRequest(f"parameters: {error}") from None
    fields: dict[str, Any] = {}
    for name, value in pairs:
        fields.setdefault(name, value)
    if "value" in fields:
        fields["value"] = _number(fields["value"])
    if "metadata" in fields:
        metadata = fields["metadata"].encode(errors="surrogateescape")
        fields["metadata"] = parse_json("metadata", metadata)
    return _conversion(fields)


def from_json(body: bytes) -> Conversion:
    fields = parse_json("body", body)
    if not isinstance(fields, dict):
        raise BadRequest("body: must be a JSON object")
    return _conversion({name: value for name, value in fields.items() if value != ""})


def _pairs(text: str) -> Sequence[tuple[str, str]]:
    """Names and values that are not empty. Raises ValueError if there are too many."""
    if "%" in text or "+" in text or text.count("&") >= _FIELDS:
        return parse_qsl(text, errors="surrogateescape", max_num_fields=_FIELDS)
    # The same for what needs no decoding, as nearly all do not: four times as fast.
    pairs = [pair.partition("=") for pair in text.split("&")]
    return [(name, value) for name, _, value in pairs if value]


def _conversion(fields: Mapping[str, Any]) -> Conversion:
    """`fields` are those that are not empty."""
    pbk = _text(fields, "pbk", PBK_LENGTH)
    click_id = _text(fields, "click_id", 36)
    if pbk is None and click_id is None:
        raise BadRequest("pbk or click_id: at least one is required")
    return Conversion(
        pbk=pbk,
        click_id=None if click_id is None else parse_id("click_id", click_id),
        value=_value(fields.get("value")),
        metadata=_metadata(fields.get("metadata")),
        transaction_id=_transaction_id(fields),
    )


def _text(fields: Mapping[str, Any], name: str, most: int) -> str | None:
    text = fields.get(name)
    if text is None:
        return None
    if not isinstance(text, str) or len(text) > most or not text.isprintable():
        raise BadRequest(f"{name}: must be text of 1 to {most} printable characters")
    return text


def _transaction_id(fields: Mapping[str, Any]) -> str | None:
    if "transaction_id" not in fields and "txid" not in fields:
        return None
    named = {
        _text({name: str(value) if type(value) is int else value}, name, TRANSACTION_ID_LENGTH)
        for name in ("transaction_id", "txid")
        if (value := fields.get(name)) is not None
    } - {None}
    if len(named) > 1:
        raise BadRequest("transaction_id: differs from txid, which is another name for it")
    return named.pop() if named else None


def _number(text: str) -> Decimal:
    if not _NUMBER.fullmatch(text):
        raise BadRequest("value: must be a finite number such as 12.50")
    return Decimal(text)


def _value(value: Any) -> Decimal | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise BadRequest("value: must be a finite number such as 12.50")
    number = Decimal(value)
    if (
        abs(number.adjusted()) > _VALUE_DIGITS
        or number.copy_abs() > _VALUE_BOUND
        or len(number.as_tuple().digits) > _VALUE_DIGITS
    ):
        raise BadRequest(f"value: at most 10^15, and {_VALUE_DIGITS} digits")
    return number


def _metadata(value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise BadRequest("metadata: must be a JSON object")
    text = _TO_JSON.encode(value)
    if is_deeper(text, METADATA_DEPTH):
        raise BadRequest(f"metadata: at most {METADATA_DEPTH} levels deep")
    if len(text) > METADATA_BYTES:
        raise BadRequest(f"metadata: at most {METADATA_BYTES} bytes")
    return text.decode()
