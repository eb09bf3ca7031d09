"""The macros of webhooks: names in braces, replaced in payload, URL and headers. Pure.

- Macros are checked when a webhook is written. So a typo is an error, not a hole in each delivery.
- Braces around white space or quotes are no macros, because a text may itself be GraphQL or JSON.
  Only the names after `metadata.` and `query.` may have spaces.
- A backslash in front makes a macro plain text: `\\{slug}` is sent as `{slug}`.
- `{<macro>|lower}` and its like give a value another form, up to MAX_FORMS one after the other.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any, Final

import msgspec

from tracker.clicks.enrich import AD_IDS
from tracker.syntax.macros import CASES, check_known
from tracker.visitor_dimensions import DIMENSIONS

MACROS: Final[Mapping[str, str]] = {
    "event_id": "id of the conversion event",
    "click_id": "id of the click",
    "value": "value of the conversion",
    "payout": "what the conversion pays",
    "currency": "currency of the conversion, else of the account",
    "status": "approved, pending, rejected or refunded",
    "refunded_value": "part of the value that is refunded",
    "previous_status": "status before the change; missing if the conversion is new",
    "previous_value": "value before the change",
    "previous_payout": "payout before the change",
    "reason": "reason of the change, if it was a correction",
    "payout_type": "payout type of the event configuration",
    "conversion_timestamp": "when the conversion was received, ISO 8601 UTC",
    "conversion_timestamp_unix": "when the conversion was received, Unix seconds",
    "click_timestamp": "when the click was recorded, ISO 8601 UTC",
    "click_timestamp_unix": "when the click was recorded, Unix seconds",
    "event_name": "name of the event configuration",
    "pbk": "postback key",
    "transaction_id": "transaction id that was sent with the conversion",
    "account_id": "id of the account",
    "link_id": "id of the short link",
    "slug": "slug of the short link",
    "internal_name": "internal name of the short link",
    "domain_name": "domain of the short link",
    "destination_url": "destination of the short link",
    "tags": "names of the short link's tags",
    **{dimension.name: f"{dimension.title} of the click" for dimension in DIMENSIONS},
    "referrer": "referrer of the click",
    "metadata": "metadata of the conversion",
}

CLICK_MACROS: Final[Mapping[str, str]] = {
    "bot": "why the click counts as a bot's; missing for a person's",
    "unique": "whether the click is the visitor's first of the link on that day",
    "click_query": "all parameters of the click, as they came",
}

OF_CONVERSIONS: Final = (
    *("event_id", "value", "payout", "currency", "status", "refunded_value", "reason", "metadata"),
    *("previous_status", "previous_value", "previous_payout", "payout_type", "event_name", "pbk"),
    *("conversion_timestamp", "conversion_timestamp_unix", "transaction_id"),
    *("dedup_id", "net_value"),
)
"""Macros without a value where a click is told of."""

OF_CLICKS: Final = [name for name in (*MACROS, *CLICK_MACROS) if name not in OF_CONVERSIONS]

AD_MACROS: Final[Mapping[str, str]] = {
    "dedup_id": "transaction id of the conversion, else its event id, as text",
    "net_value": "value of the conversion, less what is refunded",
    "consent": "granted or denied, if the visitor was asked",
    "click_address": "address of the visitor, only with STORE_IP",
    "click_user_agent": "user agent of the visitor",
    "fbc": "fbclid of the click, in the form that Meta takes",
    **{name: f"{name} of the click" for name in AD_IDS},
    **CLICK_MACROS,
}
"""Macros that ad platforms need. The payload of a webhook without a template has none of them."""

_NAMED: Final[Mapping[str, str]] = {
    "metadata.<key>": "one field of the conversion's metadata",
    "query.<name>": "one parameter of the click's query",
    "parameter:<name>": "one of the account's own parameters, as stored with the click",
}
"""Macros with the name of a field or parameter, by pattern."""

_MAX_PLAIN_EXPONENT: Final = 64
TEMPLATE: Final = "payload_template"
"""The field of a webhook with macros in its JSON."""

ENCODER: Final = msgspec.json.Encoder(decimal_format="number")

_NAMES: Final = MACROS.keys() | AD_MACROS.keys()
_PREFIXES: Final = tuple(pattern.partition("<")[0] for pattern in _NAMED)

Form = Callable[[Any], Any]
"""Changes a value's form. Values that it does not apply to stay as they are."""

_TIME_FORMS: Final[Mapping[str, Form]] = {
    "seconds": lambda time: f"{time[:19]}Z",
    "offset": lambda time: f"{time[:19]}+00:00",
}
_TIME_EXAMPLE: Final = "2026-01-31T09:30:00"
MAX_FORMS: Final = 4
_HASH: Final = re.compile("[0-9a-f]{64}")
_CONSENT_FORMS: Final[Mapping[str, Form]] = {
    "google": {"granted": "CONSENT_GRANTED", "denied": "CONSENT_DENIED"}.get,
    "microsoft": {"granted": "G", "denied": "D"}.get,
}
_FORMS_OF: Final[Mapping[str, Mapping[str, Form]]] = {
    **dict.fromkeys(("conversion_timestamp", "click_timestamp"), _TIME_FORMS),
    "consent": _CONSENT_FORMS,
}
"""Forms of one macro only."""

ALL_MACROS: Final = {
    **MACROS,
    **AD_MACROS,
    **_NAMED,
    **{f"<macro>|{case}": f"any of them with its letters in {case} case" for case in CASES},
    "<macro>|text": "any of them as text, also where it stands alone",
    "<macro>|digits": "only its digits",
    "<macro>|phone": "its digits after a plus sign",
    "<macro>|page": "a URL without query and fragment",
    "<macro>|sha256": "SHA-256 of its text, trimmed and in lower case; a SHA-256 stays as it is",
    "<macro>|list": "a list of it alone",
    "consent|google": "CONSENT_GRANTED or CONSENT_DENIED",
    "consent|microsoft": "G or D",
    **{
        f"<timestamp>|{name}": f"a time without milliseconds, as {form(_TIME_EXAMPLE)}"
        for name, form in _TIME_FORMS.items()
    },
}

_NAME: Final = r"(?:metadata|query)\.[^{}]*|[^\W\d][^{}\s\"]*"
# The group is a name; `is_known` tells whether there is such a macro.
MACRO: Final = re.compile(rf"(?<!\\)\{{({_NAME})\}}")
_ESCAPE: Final = re.compile(rf"\\(?=\{{(?:{_NAME})\}})")
_ESCAPE_ADVICE: Final = "; a backslash in front sends braces as they are: \\{name}"


def parsed(text: str | bytes) -> dict[str, Any]:
    """Parse a JSON object whose numbers keep their digits."""
    fields: dict[str, Any] = json.loads(text, parse_float=Decimal)
    return fields


def as_text(value: Any) -> str:
    """Return a value within a longer text: money in plain decimals, lists and objects as JSON."""
    if value is None:
        return ""
    if isinstance(value, Decimal):
        # The exponent of a number in metadata has no limit, and each unit would become a zero.
        return f"{value:f}" if abs(value.adjusted()) <= _MAX_PLAIN_EXPONENT else str(value)
    return value if isinstance(value, str) else ENCODER.encode(value).decode()


def _changed_letters(change_case: Callable[[str], str], value: Any) -> Any:
    """Change the case of a text, or of the texts in a list."""
    if isinstance(value, str):
        return change_case(value)
    if isinstance(value, list):
        return [_changed_letters(change_case, one) for one in value]
    return value


def _digits(value: Any, before: str = "") -> str | None:
    digits = re.sub("[^0-9]", "", as_text(value))
    return before + digits if digits else None


def _hashed(value: Any) -> str | None:
    text = as_text(value).strip().lower()
    return text if not text or _HASH.fullmatch(text) else hashlib.sha256(text.encode()).hexdigest()


_FORMS: Final[Mapping[str, Form]] = {
    "text": as_text,
    **{case: partial(_changed_letters, change) for case, change in CASES.items()},
    "digits": _digits,
    "phone": partial(_digits, before="+"),
    "page": lambda value: re.split("[?#]", as_text(value), maxsplit=1)[0],
    "sha256": _hashed,
    "list": lambda value: value if isinstance(value, list) else [value] if value != "" else None,
}


class Unfillable(Exception):
    """Why nothing is sent, for the owner of the webhook. `failure` is its class."""

    def __init__(self, reason: str, failure: str = "payload") -> None:
        super().__init__(reason)
        self.failure = failure


def is_known(macro: str) -> bool:
    name, _ = name_and_forms(macro)
    return name in _NAMES or any(
        name.startswith(prefix) and len(name) > len(prefix) for prefix in _PREFIXES
    )


@lru_cache(maxsize=1000)
def name_and_forms(macro: str) -> tuple[str, Sequence[Form]]:
    """Split `<name>|<form>|<form>`; return the forms in their order."""
    forms: list[Form] = []
    while len(forms) < MAX_FORMS:
        name, _, word = macro.rpartition("|")
        form = _FORMS.get(word) or _FORMS_OF.get(name, {}).get(word)
        if not name or form is None:
            break
        forms.insert(0, form)
        macro = name
    return macro, forms


def check_macros(field: str, texts: Iterable[str]) -> None:
    """Raises BadRequest naming `field` if a macro is unknown."""
    used = [name for text in texts for name in MACRO.findall(text)]
    check_known(field, used, is_known, ALL_MACROS, _ESCAPE_ADVICE)


def split_at_macros(text: str) -> list[str]:
    """Return plain texts and macro names, alternating. Unknown macros are plain text."""
    parts = [""]
    for number, piece in enumerate(MACRO.split(text)):
        if number % 2 == 0:
            parts[-1] += _ESCAPE.sub("", piece)
        elif is_known(piece):
            parts += [piece, ""]
        else:
            parts[-1] += f"{{{piece}}}"
    return parts


def fill_parts(
    parts: Sequence[str],
    texts: Mapping[str, str],
    encode: Callable[[str], str],
    longest: int,
    rule: str,
) -> list[str]:
    """Replace the macro names in `parts` by encoded texts; a missing one is empty.

    Raises Unfillable with `rule` beyond `longest` characters; encoding makes no text shorter.
    """
    filled, left = [*parts], longest
    for number in range(1, len(parts), 2):
        text = texts.get(parts[number], "")
        if len(text) <= left:
            filled[number] = text = encode(text)
        left -= len(text)
        if left < 0:
            raise Unfillable(rule)
    return filled
