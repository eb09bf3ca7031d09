"""Invisible characters, which copying adds to what people paste. Pure.

They are Unicode's control and format characters, without the few format characters that are seen,
or are part of what is seen: Arabic number signs, hieroglyphs' joiners, and the tags of flags.
"""

import re
from typing import Final
from unicodedata import name

from tracker.errors import BadRequest

_FORMAT: Final = (
    r"\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001"
)
_OUTER: Final = re.compile(rf"[\s\x00-\x1f\x7f-\x9f{_FORMAT}]*")
# Joiners are part of words of Persian and of Indian languages, and of emoji.
_JOINER: Final = r"(?<=[^\x00-\x7f])[\u200c\u200d](?=[^\x00-\x7f])"
_WITHIN: Final = re.compile(rf"(?!{_JOINER})[{_FORMAT}]")


def stripped(text: str) -> str:
    """Return `text` without white space and invisible characters at its ends."""
    from_start = _OUTER.sub("", text, count=1)
    return _OUTER.sub("", from_start[::-1], count=1)[::-1]


def check_visible(field: str, url: str) -> None:
    """Raises BadRequest that names the first format character in the host or path of `url`."""
    if found := _WITHIN.search(re.split("[?#]", url, maxsplit=1)[0]):
        code = f"U+{ord(found[0]):04X} {name(found[0], '')}".rstrip()
        raise BadRequest(f"{field}: has an invisible character ({code})")
