"""Other names of parameters: aliases, and names that look like a parameter of ours. Pure.

- Networks cannot rename what they send. An alias is one of their names that stands for a parameter.
- Unknown parameters are ignored, because networks send their own. A misspelt one loses the click of
  a conversion, so the answer names it.
"""

import re
from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec

from tracker.conversions.parameters import NAMES, READERS, ConversionParameters, Twice
from tracker.errors import BadRequest

MAX_ALIASES: Final = 20
ALIAS_PATTERN: Final = r"^[A-Za-z0-9_.-]{1,64}$"
_ALIAS: Final = re.compile(ALIAS_PATTERN.replace("$", r"\Z"), re.ASCII)

MAX_WARNINGS: Final = 5
_MAX_NAME_CHARACTERS: Final = 40

_SIMILAR: Final = {
    "click_id": ("clickid", "cid", "subid", "clid", "clkid", "clickref"),
    "transaction_id": (
        *("transactionid", "transid", "txid", "txnid", "txn", "tid"),
        *("orderid", "ordernumber"),
    ),
    "value": ("value", "payout", "amount", "revenue"),
    "metadata": ("metadata",),
    "pbk": ("pbk", "postbackkey"),
}
"""Names that senders use. `gclid` and `utm_` belong to advertisers, `sub1` to networks."""

_PARAMETERS: Final = {name: parameter for parameter, names in _SIMILAR.items() for name in names}
_SEPARATORS: Final = str.maketrans("", "", "_-. ")


class AliasedParameter(StrEnum):
    """A parameter that an alias may stand for: what networks name in their own way."""

    CLICK_ID = "click_id"
    VALUE = "value"
    TRANSACTION_ID = "transaction_id"


Aliases = Mapping[str, AliasedParameter]


class BadAlias(BadRequest):
    """The error of an alias that breaks a rule. Its message names the alias."""

    def __init__(self, message: str, parameter: AliasedParameter) -> None:
        super().__init__(message)
        self.parameter = parameter


def check_aliases(aliases: Collection[str]) -> None:
    """Raises BadRequest, naming the rule, if an alias breaks one or is a parameter's name."""
    if len(aliases) > MAX_ALIASES:
        raise BadRequest(f"parameter_aliases: at most {MAX_ALIASES} names")
    for name in aliases:
        if not _ALIAS.match(name):
            raise BadRequest("parameter_aliases: names are 1 to 64 of A-Z a-z 0-9 _ . -")
        if name in NAMES:
            raise BadRequest(f"parameter_aliases: {name} is the name of a parameter itself")


def with_aliases(conversion: ConversionParameters, aliases: Aliases) -> ConversionParameters:
    """Apply the aliases to a conversion.

    Raises BadAlias if a value breaks a rule, or differs from the same parameter under another name.
    """
    if not aliases or not conversion.others:
        return conversion
    others = dict(conversion.others)
    read: dict[str, Any] = {}
    for name, parameter in aliases.items():
        if name in others:
            value = _read(name, parameter, others.pop(name))
            known = read.get(parameter, getattr(conversion, parameter))
            if known is not None and known != value:
                rule = f"differs from the {parameter} that was sent too"
                raise BadAlias(f"{name}: {rule}", parameter)
            read[parameter] = value if known is None else known
    return msgspec.structs.replace(conversion, others=others, **read)


def _read(name: str, parameter: AliasedParameter, value: Any) -> Any:
    read = READERS[parameter]
    try:
        if not isinstance(value, Twice):
            return read(name, value)
        counted = read(name, value.body)
        if parameter is AliasedParameter.CLICK_ID and read(name, value.query) != counted:
            raise BadRequest(f"{name}: differs between the query and the body")
        return counted
    except BadRequest as error:
        raise BadAlias(error.message, parameter) from None


def warnings_of(conversion: ConversionParameters) -> tuple[str, ...]:
    """Return a warning for each ignored parameter that looks like a missing one."""
    found = (_warning(conversion, name) for name in conversion.others or ())
    return tuple(warning for warning in found if warning)[:MAX_WARNINGS]


def _warning(conversion: ConversionParameters, name: str) -> str:
    if len(name) > _MAX_NAME_CHARACTERS:
        return ""
    parameter = _PARAMETERS.get(name.translate(_SEPARATORS).lower())
    if parameter is None or getattr(conversion, parameter) is not None:
        return ""
    return f"{name}: ignored; did you mean {parameter}?"
