"""Parameters of a conversion, and the rules that each follows. Pure.

- Unknown parameters are in `others`: an event configuration may have aliases among them.
- An empty parameter counts as not sent, because networks leave macros empty.
- A parameter that breaks a rule raises BadRequest, which names it.
- An unfilled macro is no transaction id, and a filler such as `-` counts as not sent. Each is the
  same for every conversion, so all but the first would count as repeats.
"""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

import msgspec

from tracker.conversions.postbacks.fields import (
    NAMES,
    TRANSACTION_IDS,
    Fields,
    FormValue,
    fields_in_text,
    with_repaired_names,
)
from tracker.conversions.postbacks.times import parse_moment
from tracker.conversions.postbacks.words import MAX_WORD_CHARACTERS, plain_word
from tracker.errors import BadRequest, Required
from tracker.ids import parse_id
from tracker.syntax.strict_json import is_deeper, parse_json
from tracker.syntax.unfilled import is_filler, unfilled

MAX_METADATA_BYTES: Final = 16 * 1024
MAX_METADATA_LEVELS: Final = 8
MAX_TRANSACTION_ID_CHARACTERS: Final = 255
MAX_PBK_CHARACTERS: Final = 128
MAX_VALUE: Final = 10**15
MAX_VALUE_DIGITS: Final = 30
CONSENTS: Final = ("granted", "denied")
_CLICK_ID_CHARACTERS: Final = 36
# Any text can match in one way only, so a long one is rejected in linear time.
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
_USUAL_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,10})?", re.ASCII)
"""A number within all limits."""
_TO_JSON = msgspec.json.Encoder(decimal_format="number")


class ConversionParameters(msgspec.Struct, frozen=True, kw_only=True):
    """Checked parameters. `metadata` is JSON text; `others` are unknown and unchecked.

    `status` is a plain word, `currency` any text in capitals, `occurred_at` is in milliseconds.
    `warnings` are for the sender: short texts, safe to show.
    """

    pbk: str | None
    click_id: UUID | None
    value: Decimal | None
    metadata: str | None
    transaction_id: str | None
    others: Mapping[str, Any] | None = None
    warnings: tuple[str, ...] = ()
    status: str | None = None
    currency: str | None = None
    occurred_at: int | None = None
    consent: str | None = None


def parse_text(raw: bytes) -> ConversionParameters:
    return checked_parameters(fields_in_text(raw))


def checked_parameters(fields: Fields) -> ConversionParameters:
    """Raises BadRequest if a parameter breaks a rule."""
    warnings: list[str] = []
    others = None
    if not fields.keys() <= NAMES:
        if not all(map(str.isidentifier, fields)):
            fields = with_repaired_names(fields, warnings)
        others = {name: value for name, value in fields.items() if name not in NAMES}
    pbk, click_id, value = fields.get("pbk"), fields.get("click_id"), fields.get("value")
    if pbk is None and click_id is None:
        raise Required("pbk or click_id: at least one is required")
    return ConversionParameters(
        pbk=None if pbk is None else _text("pbk", pbk, MAX_PBK_CHARACTERS),
        click_id=None if click_id is None else _click_id("click_id", click_id),
        value=None if value is None else _value("value", value),
        metadata=_metadata(fields.get("metadata")),
        transaction_id=_transaction_id(fields, warnings),
        others=others,
        warnings=tuple(warnings),
    )


def _text(name: str, text: Any, limit: int) -> str:
    if not isinstance(text, str) or len(text) > limit or not text.isprintable():
        raise BadRequest(f"{name}: must be text of 1 to {limit} printable characters")
    return text


def _click_id(name: str, value: Any) -> UUID:
    try:
        return parse_id(name, _text(name, value, _CLICK_ID_CHARACTERS))
    except BadRequest:
        _refuse_unfilled(name, value, "the click_id of the redirect")
        raise


def _refuse_unfilled(name: str, value: Any, wanted: str) -> None:
    """Raises BadRequest if `value` is a macro or a placeholder."""
    if not isinstance(value, str) or len(value) > MAX_TRANSACTION_ID_CHARACTERS:
        return
    if value.isprintable() and (defect := unfilled(value)):
        raise BadRequest(f"{name}: {defect}, {value}; send {wanted}")


def _transaction_id(fields: Mapping[str, Any], warnings: list[str]) -> str | None:
    named = set()
    for name in TRANSACTION_IDS:
        if name in fields:
            sent = _one_transaction_id(name, fields[name])
            if sent is None:
                warnings.append(filler_warning(name))
            else:
                named.add(sent)
    if len(named) > 1:
        raise BadRequest("transaction_id: differs from txid, which is another name for it")
    return named.pop() if named else None


def _one_transaction_id(name: str, value: Any) -> str | None:
    """Return the id; None for a filler, which counts as not sent."""
    sent = str(value) if type(value) in (int, FormValue) else value
    text = _text(name, sent, MAX_TRANSACTION_ID_CHARACTERS)
    if is_filler(text):
        return None
    _refuse_unfilled(name, text, "the id of the order, or none")
    return text


def filler_warning(name: str) -> str:
    return f"{name}: ignored, because it stands for no value"


def _value(name: str, value: Any) -> Decimal:
    """Return the value, also of text in JSON: senders quote their macros."""
    return checked_value(name, FormValue(value) if type(value) is str else value)


def checked_value(name: str, value: Any) -> Decimal:
    """Return the value of the parameter `name`. Raises BadRequest if it breaks a rule."""
    if isinstance(value, FormValue):
        if _USUAL_NUMBER.fullmatch(value):
            return Decimal(value)
        if _NUMBER.fullmatch(value):
            value = Decimal(value)
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        _refuse_unfilled(name, value, "a number such as 12.50")
        raise BadRequest(f"{name}: must be a finite number such as 12.50")
    number = Decimal(value)
    if (
        abs(number.adjusted()) > MAX_VALUE_DIGITS
        or number.copy_abs() > MAX_VALUE
        or len(number.as_tuple().digits) > MAX_VALUE_DIGITS
    ):
        raise BadRequest(f"{name}: at most 10^15, and {MAX_VALUE_DIGITS} digits")
    return number


def _sent(name: str, value: Any, wanted: str) -> Any:
    """Return a number, or a text that somebody filled in; None for a filler."""
    text = str(value) if type(value) in (int, FormValue) else value
    if not isinstance(text, str):
        return value
    if is_filler(_text(name, text, MAX_WORD_CHARACTERS)):
        return None
    _refuse_unfilled(name, text, wanted)
    return text


def _status(name: str, value: Any) -> str | None:
    sent = _sent(name, value, "the status of the conversion, or none")
    return None if sent is None else plain_word(_text(name, sent, MAX_WORD_CHARACTERS))


def _currency(name: str, value: Any) -> str | None:
    sent = _sent(name, value, "a code such as EUR, or none")
    return None if sent is None else _text(name, sent, MAX_WORD_CHARACTERS).strip().upper()


def _occurred_at(name: str, value: Any) -> int | None:
    sent = _sent(name, value, "a time such as 2026-01-31T09:30:00Z, or none")
    return None if sent is None else parse_moment(name, sent)


def _consent(_: str, value: Any) -> str | None:
    """Return the visitor's answer; None for other words, which were sent before it was read."""
    word = plain_word(value) if isinstance(value, str) else ""
    return word if word in CONSENTS else None


PARSERS: Final[Mapping[str, Callable[[str, Any], Any]]] = {
    "click_id": _click_id,
    "value": _value,
    "transaction_id": _one_transaction_id,
    "status": _status,
    "currency": _currency,
    "occurred_at": _occurred_at,
    "consent": _consent,
}
"""Parsers of aliased parameters, called with the alias and the value. None counts as not sent."""


def _metadata(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, FormValue):
        value = parse_json("metadata", value.encode(errors="surrogateescape"))
    if not isinstance(value, dict):
        raise BadRequest("metadata: must be a JSON object")
    text = _TO_JSON.encode(value)
    if is_deeper(text, MAX_METADATA_LEVELS):
        raise BadRequest(f"metadata: at most {MAX_METADATA_LEVELS} levels deep")
    if len(text) > MAX_METADATA_BYTES:
        raise BadRequest(f"metadata: at most {MAX_METADATA_BYTES} bytes")
    return text.decode()
