"""Filters of reports: the values that one takes, and their stored forms. Pure."""

import re
from collections.abc import Callable, Collection, Container, Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from tracker.errors import BadRequest
from tracker.ids import parse_id
from tracker.links.hostnames import canonical_hostname
from tracker.visitor_dimensions import UNKNOWN


class Filter(NamedTuple):
    """The values that a filter takes.

    - `about` describes them, `in_reports` adds what only reports take.
    - `choices` lists them all. Without it they are texts, or ids of records.
    - `canonical` returns the stored form. It raises ValueError, which names the dimension.
    - `members` returns the underlying values for a key of a derived dimension.
    """

    about: str = ""
    in_reports: str = ""
    choices: Sequence[str] = ()
    are_ids: bool = False
    canonical: Callable[[str], str] | None = None
    members: Callable[[str], Collection[str]] | None = None


class Condition(msgspec.Struct, frozen=True):
    """The values that pass the negative and textual conditions on a dimension, as a container.

    A text has any part of `having`, and none of `without`. `text_of` returns it in lower case.
    """

    refused: Container[str]
    having: Sequence[str]
    without: Sequence[str]
    text_of: Callable[[str], str]

    def __contains__(self, value: object) -> bool:
        if value in self.refused:
            return False
        text = self.text_of(str(value)) if self.having or self.without else ""
        has_any = not self.having or any(one in text for one in self.having)
        return has_any and not any(one in text for one in self.without)


_COUNTRY: Final = re.compile(r"[A-Za-z]{2}")


def country_of(text: str) -> str:
    """Return the code of a country. Raises ValueError, naming the field, if it is none."""
    if text.lower() == UNKNOWN:
        return UNKNOWN
    if not _COUNTRY.fullmatch(text):
        raise ValueError("country: must be two letters such as DE, or unknown")
    return text.upper()


def host_of(text: str) -> str:
    # The service's own host may be an IP address. Endpoints refuse other invalid domains.
    return canonical_hostname(text) or text.lower()


def id_or(name: str, *others: str) -> Callable[[str], str]:
    def canonical(text: str) -> str:
        if text in others:
            return text
        try:
            return str(parse_id(name, text))
        except BadRequest as error:
            raise ValueError(f"{error.message}, or {' or '.join(others)}") from None

    return canonical


def families(names: Iterable[str]) -> Filter:
    """Return the filter of families. Earlier releases stored further families, kept as given."""
    known = {name.casefold(): name for name in (*names, "Other", UNKNOWN)}
    return Filter(
        "families, named as in reports, in any case",
        canonical=lambda text: known.get(text.casefold(), text),
    )
