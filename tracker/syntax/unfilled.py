"""Texts that were never filled in: macros, samples of documents, and words for no value. Pure."""

import re
from typing import Final
from urllib.parse import unquote

# Any text can match in one way only, so a long one is rejected in linear time.
# A name has no three digits in a row, as order numbers have. It is no GUID, which some systems
# write in braces.
_MACRO_NAME: Final = r"(?![0-9a-f]{8}-)[$_]?[a-z](?:(?!\d{3})[a-z0-9_.:| -])*"
_MACRO: Final = re.compile(
    rf"""
      [$\#%]?\{{{{1,3}}\s*(?:{_MACRO_NAME})?\s*\}}{{1,3}}
    | \[{{1,2}}\s*(?:{_MACRO_NAME})?\s*\]{{1,2}}
    | <{{1,2}}\s*(?:{_MACRO_NAME})?\s*>{{1,2}}
    | %{{1,2}}{_MACRO_NAME}%{{1,2}}
    | \#{_MACRO_NAME}\#
    | __{_MACRO_NAME}__
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_NO_VALUE: Final = r"undefined|null|nil|none|nan|n/?a|not[ _-]?set"
_SAMPLES: Final = r"order_id|transaction_id"
"""Ids in examples, such as the console's."""


def _only(words: str, count: str) -> re.Pattern[str]:
    """Match `count` of these words with punctuation between and around them."""
    return re.compile(rf"[\W_]*(?:(?:{words})(?:[\W_]+|\Z)){count}", re.IGNORECASE)


_FILLER: Final = _only(_NO_VALUE, "*")
_PLACEHOLDER: Final = _only(f"{_NO_VALUE}|{_SAMPLES}", "+")


def is_filler(text: str) -> bool:
    """Return whether a text has no letter or digit, or only words for no value: `-`, `N/A`."""
    return _FILLER.fullmatch(_decoded(text)) is not None


def unfilled(text: str) -> str | None:
    """Return why a text cannot be an id, for an error; None if it can."""
    if _has_only_macros(text) or _has_only_macros(_decoded(text)):
        return "an unfilled macro"
    return "a placeholder" if _PLACEHOLDER.fullmatch(text) else None


def _decoded(text: str) -> str:
    return unquote(text) if "%" in text else text


def _has_only_macros(text: str) -> bool:
    rest, macros = _MACRO.subn("", text)
    return macros > 0 and _FILLER.fullmatch(rest) is not None
