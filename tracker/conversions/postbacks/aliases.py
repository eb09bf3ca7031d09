"""Names that are no parameter's own: aliases, and names similar to one. Pure.

- Networks cannot rename their parameters. An alias maps such a name to a parameter.
- Unknown parameters are ignored, because networks send their own. A misspelt one loses the click of
  a conversion, so the answer warns of it.
- Under a name similar to `status` only known words are read: `state` may be that of an address.
"""

import re
from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec

from tracker.conversions.postbacks.fields import NAMES, REPORTED, QueryAndBody
from tracker.conversions.postbacks.parameters import PARSERS, ConversionParameters, filler_warning
from tracker.conversions.postbacks.words import Meanings, meaning_of, plain_word
from tracker.errors import BadRequest

MAX_ALIASES: Final = 20
ALIAS_PATTERN: Final = r"^[A-Za-z0-9_.-]{1,64}$"
_ALIAS: Final = re.compile(ALIAS_PATTERN.replace("$", r"\Z"), re.ASCII)

MAX_WARNINGS: Final = 5
SHARED_ID: Final = "transaction_id: another click has it already; send the id of each order"
_MAX_NAME_CHARACTERS: Final = 40
_SIMILAR_TO: Final = ": ignored; did you mean "

_SIMILAR: Final = {
    "click_id": ("clickid", "cid", "subid", "clid", "clkid", "clickref"),
    "transaction_id": (
        *("transactionid", "transid", "txid", "txnid", "txn", "tid"),
        *("orderid", "ordernumber"),
    ),
    "value": ("value", "payout", "amount", "revenue"),
    "metadata": ("metadata",),
    "pbk": ("pbk", "postbackkey"),
    "status": ("status", "conversionstatus", "state"),
    "currency": ("currency", "currencycode"),
    "occurred_at": ("occurredat",),
}
"""Names that senders use. `gclid` and `utm_` belong to advertisers, `sub1` to networks."""

_PARAMETERS: Final = {name: parameter for parameter, names in _SIMILAR.items() for name in names}
_SEPARATORS: Final = str.maketrans("", "", "_-. ")


class AliasedParameter(StrEnum):
    """The parameters that may have aliases, because networks name them in their own way."""

    CLICK_ID = "click_id"
    VALUE = "value"
    TRANSACTION_ID = "transaction_id"
    STATUS = "status"
    CURRENCY = "currency"
    OCCURRED_AT = "occurred_at"
    CONSENT = "consent"


Aliases = Mapping[str, AliasedParameter]

_OWN_NAMES: Final[Aliases] = {name: AliasedParameter(name) for name in sorted(REPORTED)}


class BadAlias(BadRequest):
    """A value breaks a rule of the aliased `parameter`. The message names the alias."""

    def __init__(self, message: str, parameter: AliasedParameter) -> None:
        super().__init__(message)
        self.parameter = parameter


def check_aliases(aliases: Collection[str]) -> None:
    """Raises BadRequest if an alias is malformed, or is a parameter's name."""
    if len(aliases) > MAX_ALIASES:
        raise BadRequest(f"parameter_aliases: at most {MAX_ALIASES} names")
    for name in aliases:
        if not _ALIAS.match(name):
            raise BadRequest("parameter_aliases: names are 1 to 64 of A-Z a-z 0-9 _ . -")
        if name in NAMES:
            raise BadRequest(f"parameter_aliases: {name} is the name of a parameter itself")


def with_aliases(parameters: ConversionParameters, aliases: Aliases) -> ConversionParameters:
    """Apply the aliases to a conversion.

    Raises BadAlias if a value breaks a rule, or differs from the same parameter under another name.
    """
    if not parameters.others:
        return parameters
    others = dict(parameters.others)
    read: dict[str, Any] = {}
    warnings = parameters.warnings
    for name, parameter in {**_OWN_NAMES, **aliases}.items():
        if name in others:
            value = _read(name, parameter, others.pop(name))
            if value is None:
                rule = f"{name}: ignored, because it is neither granted nor denied"
                is_consent = parameter == AliasedParameter.CONSENT
                warnings = (*warnings, rule if is_consent else filler_warning(name))
                continue
            known = read.get(parameter, getattr(parameters, parameter))
            if known is not None and known != value:
                rule = f"differs from the {parameter} that was sent too"
                raise BadAlias(f"{name}: {rule}", parameter)
            read[parameter] = value if known is None else known
    return msgspec.structs.replace(parameters, others=others, warnings=warnings, **read)


def _read(name: str, parameter: AliasedParameter, value: Any) -> Any:
    read = PARSERS[parameter]
    try:
        if not isinstance(value, QueryAndBody):
            return read(name, value)
        in_body = read(name, value.body)
        if parameter is AliasedParameter.CLICK_ID and read(name, value.query) != in_body:
            raise BadRequest(f"{name}: differs between the query and the body")
        return in_body
    except BadRequest as error:
        raise BadAlias(error.message, parameter) from None


def with_similar_status(
    parameters: ConversionParameters, statuses: Meanings
) -> ConversionParameters:
    """Read a known word under a name such as `conversion_status`, if no status was sent."""
    if parameters.status is not None or not parameters.others:
        return parameters
    for name, value in parameters.others.items():
        if _PARAMETERS.get(_plain(name)) == AliasedParameter.STATUS:
            for sent in reversed(value) if isinstance(value, QueryAndBody) else (value,):
                word = plain_word(sent) if isinstance(sent, str) else ""
                if meaning_of(word, statuses):
                    return msgspec.structs.replace(parameters, status=word)
    return parameters


def warnings_of(parameters: ConversionParameters) -> tuple[str, ...]:
    """Return the warnings of reading, and one for each ignored parameter that may matter."""
    if not (parameters.others or parameters.warnings):
        return ()
    found = (_warning(parameters, name) for name in parameters.others or ())
    return (*parameters.warnings, *filter(None, found))[:MAX_WARNINGS]


def is_alias_now(warning: str, aliases: Aliases) -> bool:
    """Return whether a warning names a parameter that is among `aliases` since."""
    return ignored_name(warning) in aliases


def ignored_name(warning: str) -> str:
    """Return the parameter that `warning_of_ignored` names; "" for another warning."""
    name, similar, _ = warning.partition(_SIMILAR_TO)
    return name if similar else ""


def warning_of_ignored(name: str, parameter: str) -> str:
    return f"{name}{_SIMILAR_TO}{parameter}?"


def _warning(parameters: ConversionParameters, name: str) -> str:
    parameter = _PARAMETERS.get(_plain(name))
    if parameter is None or getattr(parameters, parameter) is not None:
        return ""
    return warning_of_ignored(name, parameter)


def _plain(name: str) -> str:
    return name.translate(_SEPARATORS).lower() if len(name) <= _MAX_NAME_CHARACTERS else ""
