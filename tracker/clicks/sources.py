"""The source dimensions of a click: where its visitor came from, as one table. Pure.

Derived when a click's document is made: from the raw referrer, the raw query, and the `utm_`
parameters of the link's destination. A value comes from strangers: it is short, has no control
character, and may be any of infinitely many. So rollups do not count by it. A click without a value
lacks the field, and costs nothing.
"""

import re
from functools import lru_cache
from typing import Final, NamedTuple

from tracker.clicks.document import decoded
from tracker.links.hostnames import MAX_HOSTNAME_CHARACTERS, canonical_hostname
from tracker.links.utm import ABSENT, UTM

CACHED_SOURCES: Final = 10_000
"""Hosts that stay derived in memory. A look-up takes 0.1 µs, deriving one 2 µs."""


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
    *(Source(name, name, ABSENT) for name in UTM),
)

FIELDS: Final = tuple(source.field for source in SOURCES)

_REFERRER: Final = re.compile(
    r"(?:https?|android-app)://(?:[^/?#\\]*@)?"
    rf"(\[[0-9a-f:.]+\]|[^/?#\\@:]{{1,{MAX_HOSTNAME_CHARACTERS + 1}}})(?=[/?#\\:]|$)",
    re.IGNORECASE,
)
# Looser than a hostname of ours: an app's name may end in `_`, and an IP address is a host too.
_HOST: Final = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]{2,45}\]")


def referrer_host(referrer: str) -> str | None:
    """Return the host of a referrer: in lower case and ASCII, without port and final dot.

    An app of Android has its name, an IPv6 address its brackets. None if the referrer is not the
    URL of a page or an app.
    """
    # The host alone is cached: paths differ from click to click.
    found = _REFERRER.match(referrer)
    return _canonical_host(found[1]) if found else None


@lru_cache(maxsize=CACHED_SOURCES)
def _canonical_host(host: str) -> str | None:
    if not host.isascii():
        return canonical_hostname(decoded(host)) or None
    name = host.lower().removesuffix(".")
    return name if len(name) <= MAX_HOSTNAME_CHARACTERS and _HOST.fullmatch(name) else None
