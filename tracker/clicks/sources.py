"""The source dimensions of a click: where its visitor came from, as one table. Pure.

Derived from the raw referrer and the raw query when a click's document is made. A value comes from
strangers: it is short, has no control character, and may be any of infinitely many. So rollups do
not count by it. A click without a value lacks the field, and costs nothing.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import unquote_to_bytes

from tracker.clicks.document import SourceFields, decoded
from tracker.links.hostnames import MAX_HOSTNAME_CHARACTERS, canonical_hostname

MAX_SOURCE_CHARACTERS: Final = 100
"""Characters that are kept of a `utm_` parameter."""

_MAX_RAW_CHARACTERS: Final = 12 * MAX_SOURCE_CHARACTERS
"""Characters that are read of one: the longest UTF-8 in its longest encoding, such as `%F0`."""

CACHED_SOURCES: Final = 10_000
"""Hosts, and raw parameters, that stay derived in memory. A look-up takes 0.1 µs, deriving a host
2 µs and a parameter 2 to 15 µs."""


class Source(NamedTuple):
    """A source dimension.

    - `name`: the dimension of reports.
    - `field`: the field of documents, which only those with a value have.
    - `absent`: the key in reports of clicks without a value.
    """

    name: str
    field: str
    absent: str


SOURCES: Final = (
    Source("referrer", "referrer_host", "direct"),
    Source("utm_source", "utm_source", "none"),
    Source("utm_medium", "utm_medium", "none"),
    Source("utm_campaign", "utm_campaign", "none"),
    Source("utm_term", "utm_term", "none"),
    Source("utm_content", "utm_content", "none"),
)

FIELDS: Final = tuple(source.field for source in SOURCES)
FIELD_OF: Final[Mapping[str, str]] = {source.name: source.field for source in SOURCES}

_PARAMETERS: Final = tuple(name for name in FIELDS if name.startswith("utm_"))
# What comes before it is looked at last: a search for fixed text takes a third of the time.
_PARAMETER: Final = re.compile(
    rf"utm_(?<![^&]utm_)({'|'.join(name.removeprefix('utm_') for name in _PARAMETERS)})=([^&]*)"
)
_TOGETHER: Final = re.compile(r"utm_(?<![^&]utm_)[^&]*(?:&utm_[^&]*)*")
_MAX_CACHED_CHARACTERS: Final = 500

_REFERRER: Final = re.compile(
    r"(?:https?|android-app)://(?:[^/?#\\]*@)?"
    rf"(\[[0-9a-f:.]+\]|[^/?#\\@:]{{1,{MAX_HOSTNAME_CHARACTERS + 1}}})(?=[/?#\\:]|$)",
    re.IGNORECASE,
)
# Looser than a hostname of ours: an app's name may end in `_`, and an IP address is a host too.
_HOST: Final = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]{2,45}\]")

# Also marks that end a line or turn the direction of a text: they would change what is beside it.
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def sources_of(referrer: str, query: str) -> SourceFields:
    """Return the source dimensions of a click that have a value.

    `referrer` and `query` are as they were sent, with one character for each byte.
    """
    found: SourceFields = {}
    if referrer and (host := referrer_host(referrer)):
        found["referrer_host"] = host
    if "utm_" in query:
        found |= utm_values(query)
    return found


def referrer_host(referrer: str) -> str | None:
    """Return the host of a referrer: in lower case and ASCII, without port and final dot.

    An app of Android has its name, an IPv6 address its brackets. None if the referrer is not the
    URL of a page or an app.
    """
    # The host alone is cached: paths differ from click to click.
    found = _REFERRER.match(referrer)
    return _canonical_host(found[1]) if found else None


def utm_values(query: str) -> SourceFields:
    """Return the `utm_` parameters of a raw query that are not empty; do not change the mapping.

    The first of each counts, as in analytics tools. Each is decoded, without control characters,
    without spaces around it, and cut to MAX_SOURCE_CHARACTERS.
    """
    # They mostly stand together, and are the same in all clicks of a campaign, while others differ
    # from click to click. What was read of them before is found in 0.4 µs; to read it takes 1 µs.
    found = _TOGETHER.search(query)
    together = found[0] if found else ""
    if len(together) <= _MAX_CACHED_CHARACTERS and together.count("utm_") == query.count("utm_"):
        return _cached_values(together)
    return _read_values(query)


def _read_values(query: str) -> SourceFields:
    found: dict[str, str] = {}
    for kind, raw in _PARAMETER.findall(query):
        name = f"utm_{kind}"
        if name not in found:
            found[name] = _text(raw[:_MAX_RAW_CHARACTERS])
    return {name: text for name, text in found.items() if text}  # type: ignore[return-value]


_cached_values = lru_cache(maxsize=CACHED_SOURCES)(_read_values)


@lru_cache(maxsize=CACHED_SOURCES)
def _canonical_host(host: str) -> str | None:
    if not host.isascii():
        return canonical_hostname(decoded(host)) or None
    name = host.lower().removesuffix(".")
    return name if len(name) <= MAX_HOSTNAME_CHARACTERS and _HOST.fullmatch(name) else None


@lru_cache(maxsize=CACHED_SOURCES)
def _text(raw: str) -> str:
    """Return a raw parameter as text.

    It has no lone surrogate, because these have no UTF-8.
    """
    read = unquote_to_bytes(raw.replace("+", " ").encode("latin-1", errors="replace"))
    text = _CONTROL.sub("", read.decode(errors="replace")).strip()
    return text[:MAX_SOURCE_CHARACTERS].rstrip()
