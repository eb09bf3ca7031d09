"""Postback keys in answers: whole only for principals that may write event configurations.

Anybody with a postback key can record conversions. Payloads and receivers' answers may contain it.
"""

from typing import Final

from tracker.access.principal import Principal
from tracker.syntax.macros import CASES

SHOWN_CHARACTERS: Final = 4
"""Enough to tell keys apart; the rest has over a hundred random bits."""


def may_read_keys(principal: Principal) -> bool:
    return principal.covers(["event_configs:write"])


def shortened(pbk: str) -> str:
    """Return the first characters, and an ellipsis, which no key has."""
    return f"{pbk[:SHOWN_CHARACTERS]}…"


def shorten_key(text: str, pbk: str) -> str:
    """Shorten `pbk` in a text, in each case that macros have, even if it is cut off at the end."""
    for form in (pbk, *(change_case(pbk) for change_case in CASES.values())):
        text = _shorten(text, form)
    return text


def _shorten(text: str, pbk: str) -> str:
    text = text.replace(pbk, shortened(pbk))
    for length in range(len(pbk) - 1, SHOWN_CHARACTERS, -1):
        if text.endswith(pbk[:length]):
            return text[:-length] + shortened(pbk)
    return text
