"""What a visitor brings for rules to look at. Pure.

Each part is derived when the first rule asks for it. None, and `unknown`, are not known.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cached_property, lru_cache
from typing import Final
from urllib.parse import parse_qsl
from zoneinfo import ZoneInfo

from tracker.limits.network import address_number

MIN_QUALITY: Final = 0.9
"""Browsers add languages with less as fallbacks: nearly each would bring `en`."""

WITHIN: Final = 0.1
MAX_LANGUAGES: Final = 20


class Visitor:
    """A visitor.

    - `dimensions` returns the visitor's dimensions by name, `referrer_host` the referrer's host.
    - `languages` is the header Accept-Language; empty: none.
    - `query` is the raw query, one character for each byte.
    - `at` is in milliseconds since the epoch.
    - `draws` tells whether the visitor may draw a variant: bots do not.
    """

    def __init__(
        self,
        *,
        dimensions: Callable[[], Mapping[str, str]],
        referrer_host: Callable[[], str | None],
        draws: Callable[[], bool],
        languages: str,
        query: str | None,
        address: str | None,
        user_agent: str,
        at: int | None,
    ) -> None:
        self._dimensions = dimensions
        self._referrer_host = referrer_host
        self._languages = languages
        self._query = query
        self.draws = draws
        self.address = address
        self.user_agent = user_agent
        self._at = at
        self._clocks: dict[str, datetime] = {}

    @cached_property
    def dimensions(self) -> Mapping[str, str]:
        return self._dimensions()

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """Return the preferred languages in lower case; empty if none is known."""
        return preferred_languages(self._languages) if self._languages else ()

    @cached_property
    def referrer_host(self) -> str | None:
        return self._referrer_host()

    @cached_property
    def query(self) -> Mapping[str, list[str]] | None:
        """Return the decoded values of each parameter."""
        if self._query is None:
            return None
        found = defaultdict[str, list[str]](list)
        text = self._query.encode("latin-1", "replace").decode(errors="replace")
        for key, value in parse_qsl(text, keep_blank_values=True):
            found[key].append(value)
        return found

    @cached_property
    def ip(self) -> tuple[int, int] | None:
        """Return the version and the number of the address."""
        return None if self.address is None else address_number(self.address)

    def clock(self, zone: str) -> datetime | None:
        """Return the time on the clocks of a zone."""
        if self._at is None:
            return None
        if zone not in self._clocks:
            self._clocks[zone] = datetime.fromtimestamp(self._at / 1000, ZoneInfo(zone))
        return self._clocks[zone]


@lru_cache(maxsize=10_000)
def preferred_languages(header: str) -> tuple[str, ...]:
    """Return the languages of Accept-Language that its sender prefers, in lower case.

    They have a quality of MIN_QUALITY or more, and nearly the best one's.
    """
    qualities: dict[str, float] = {}
    for entry in header.split(",", MAX_LANGUAGES)[:MAX_LANGUAGES]:
        tag, *parameters = (part.strip().lower() for part in entry.split(";"))
        quality = _quality(parameters)
        if tag and tag != "*" and quality is not None:
            qualities.setdefault(tag, quality)
    least = max(MIN_QUALITY, max(qualities.values(), default=0.0) - WITHIN)
    return tuple(tag for tag, quality in qualities.items() if quality >= least)


def _quality(parameters: list[str]) -> float | None:
    for one in parameters:
        name, _, text = one.partition("=")
        if name.strip() == "q":
            try:
                quality = float(text)
            except ValueError:
                return None
            return quality if 0 <= quality <= 1 else None
    return 1.0
