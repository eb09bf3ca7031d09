"""What a visitor brings for rules to look at. Pure.

None, an empty set and `unknown` are not known.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from tracker.limits.network import address_number
from tracker.syntax.url import decoded

MIN_QUALITY: Final = 0.9
"""Browsers add languages with less as fallbacks: nearly each would bring `en`."""

WITHIN: Final = 0.1
MAX_LANGUAGES: Final = 20
MAX_TAG_CHARACTERS: Final = 35
CACHED_LANGUAGES: Final = 1_000
"""A cached header takes 0.1 µs, parsing it 3."""

_TAG: Final = re.compile(r"[a-z]{1,8}(?:-[a-z0-9]{1,8})*")


class Visitor(ABC):
    """A visitor, of which each part is derived when the first rule asks for it.

    - `raw_query` has one character for each byte.
    - `at` is in milliseconds since the epoch.

    A subclass has what needs more than this room. No `cached_property`: it takes 0.6 µs.
    """

    address: str
    user_agent: str
    raw_query: str | None
    at: int | None

    _languages: frozenset[str] | None = None
    _query: Mapping[str, set[str]] | None = None
    _ip: tuple[int, int] | None = None

    @abstractmethod
    def accept_language(self) -> str:
        """Return the header; empty if there is none."""

    @abstractmethod
    def dimensions(self) -> Mapping[str, str]:
        """Return the visitor's dimensions by name."""

    @abstractmethod
    def referrer_host(self) -> str | None:
        """Return the host of the page that the visitor comes from."""

    @abstractmethod
    def draws(self) -> bool:
        """Return whether the visitor may draw a variant: bots do not."""

    def languages(self) -> frozenset[str]:
        """Return the preferred languages in lower case; of `es-AR` also `es`."""
        if self._languages is None:
            self._languages = preferred_languages(self.accept_language())
        return self._languages

    def query(self) -> Mapping[str, set[str]]:
        """Return the decoded values of each parameter."""
        if self._query is None:
            self._query = _values_by_key(self.raw_query or "")
        return self._query

    def ip(self) -> tuple[int, int] | None:
        """Return the version and the number of the address."""
        if self._ip is None:
            self._ip = address_number(self.address)
        return self._ip


class Clock(NamedTuple):
    """A time on the clocks of a zone. `minute` is of the day, `weekday` 1 (Monday) to 7."""

    weekday: int
    hour: int
    minute: int


@lru_cache(maxsize=100)
def clock_in(zone: ZoneInfo, minutes: int) -> Clock:
    """Return the time so many minutes after the epoch."""
    local = datetime.fromtimestamp(minutes * 60, zone)
    return Clock(local.isoweekday(), local.hour, local.hour * 60 + local.minute)


def _values_by_key(raw: str) -> Mapping[str, set[str]]:
    has_escapes = "%" in raw or "+" in raw or not raw.isascii()
    found: dict[str, set[str]] = {}
    for pair in raw.split("&"):
        key, _, value = pair.partition("=")
        if has_escapes:
            key, value = decoded(key), decoded(value)
        found.setdefault(key, set()).add(value)
    return found


@lru_cache(maxsize=CACHED_LANGUAGES)
def preferred_languages(header: str) -> frozenset[str]:
    """Return the languages of Accept-Language that its sender prefers, and what they begin with.

    They have a quality of MIN_QUALITY or more, and nearly the best one's.
    """
    qualities: dict[str, float] = {}
    for entry in header.split(",", MAX_LANGUAGES)[:MAX_LANGUAGES]:
        tag, *parameters = (part.strip().lower() for part in entry.split(";"))
        quality = _quality(parameters)
        if len(tag) <= MAX_TAG_CHARACTERS and _TAG.fullmatch(tag) and quality is not None:
            qualities.setdefault(tag, quality)
    least = max(MIN_QUALITY, max(qualities.values(), default=0.0) - WITHIN)
    preferred = [tag.split("-") for tag, quality in qualities.items() if quality >= least]
    return frozenset(
        "-".join(parts[:number]) for parts in preferred for number in range(1, len(parts) + 1)
    )


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
