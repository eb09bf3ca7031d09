"""The dimensions with a column in joint counts, and which of them a report needs. Pure."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final, NamedTuple

from tracker.reports.dimensions import (
    CURRENCY,
    DIMENSIONS,
    DOMAIN,
    EVENT,
    FILTERS,
    HOUR,
    LINK,
    OF_EVENTS,
    DocumentKind,
)
from tracker.visitor_dimensions import NAMES as VISITOR_DIMENSIONS


class CountedField(NamedTuple):
    """A field of clicks and events, and its value where it is missing."""

    field: str
    absent: str


_STORED: Final = {
    name: CountedField(one.field, one.absent)
    for name, one in DIMENSIONS.items()
    if one.field is not None
}
COUNTED_FIELDS: Final = {
    name: _STORED[name] for name in dict.fromkeys((*VISITOR_DIMENSIONS, *_STORED))
}
"""The dimensions of joint counts whose values are texts."""

COUNTED_DIMENSIONS: Final = (LINK, HOUR, EVENT, *COUNTED_FIELDS, CURRENCY)
"""Every column of joint counts, in the order of their stored names."""


def dimensions_of(of: DocumentKind, of_hour: bool = False) -> list[str]:
    """Return all dimensions of counts. Those of an hour have no hour."""
    return [name for name in of_kind(of, COUNTED_DIMENSIONS) if not (of_hour and name == HOUR)]


def of_kind(of: DocumentKind, names: Sequence[str]) -> Sequence[str]:
    """Return the dimensions that these documents have."""
    return names if of == "events" else [name for name in names if name not in OF_EVENTS]


def dimensions_in(combinations: Iterable[Sequence[str]]) -> list[str]:
    """Return the dimensions of all combinations, in the order of their stored names."""
    found = {name for names in combinations for name in names}
    return [name for name in COUNTED_DIMENSIONS if name in found]


def needed_for(group_by: str, filters: Collection[str]) -> tuple[str, ...]:
    """Return the counted dimensions of a report, in the order of COUNTED_DIMENSIONS."""
    asked = {group_by, *filters}
    found = {one for name in asked for one in DIMENSIONS[name].derived_from or (name,)}
    if LINK not in found and (CURRENCY in found or {HOUR, EVENT} <= found):
        # It separates conversions without a click (`reports/joint_counts/unattributed`).
        found.add(DOMAIN)
    return tuple(name for name in COUNTED_DIMENSIONS if name in found)


def wanted_values(name: str, values: Collection[Any], host: str) -> tuple[str, Sequence[str]]:
    """Return the counted dimension of a filter, and its values that pass.

    Documents have an empty text for `host`, the default domain.
    """
    texts, members = list(dict.fromkeys(map(str, values))), FILTERS[name].members
    if members is not None:
        [counted] = DIMENSIONS[name].derived_from
        return counted, [value for text in texts for value in members(text)]
    return name, [*texts, ""] if name == DOMAIN and host in texts else texts
