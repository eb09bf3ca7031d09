"""The dimensions with a column in joint counts, and which of them a report needs. Pure."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Final, NamedTuple

from tracker.clicks.document import OWN_PARAMETERS
from tracker.reports.dimensions import (
    CURRENCY,
    DIMENSIONS,
    DOMAIN,
    EVENT,
    HOUR,
    LINK,
    NO_VALUE,
    OF_EVENTS,
    PARENT,
    RULE,
    VARIANT,
    DocumentKind,
)
from tracker.visitor_dimensions import NAMES as VISITOR_DIMENSIONS
from tracker.visitor_dimensions import UNKNOWN


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
"""The dimensions of joint counts that are fields of documents."""

DECIDED_DIMENSIONS: Final = (RULE, VARIANT)
"""Those of links that decide."""

ID_DIMENSIONS: Final = (*DECIDED_DIMENSIONS, PARENT)
"""Those that documents have as ids."""

EXTRA_DIMENSIONS: Final = (*OWN_PARAMETERS, *ID_DIMENSIONS)
"""Columns that only some accounts have: `ReportScope.extra`. Other accounts read and store none."""

COUNTED_DIMENSIONS: Final = (
    *(LINK, HOUR, EVENT),
    *(name for name in COUNTED_FIELDS if name not in EXTRA_DIMENSIONS),
    CURRENCY,
)
"""The columns of joint counts that every account has, in the order of their stored names."""

_ORDER: Final = (*COUNTED_DIMENSIONS, *EXTRA_DIMENSIONS)


def dimensions_of(of: DocumentKind, of_hour: bool = False, extra: Sequence[str] = ()) -> list[str]:
    """Return all dimensions of counts. Those of an hour have no hour."""
    every = of_kind(of, (*COUNTED_DIMENSIONS, *extra))
    return [name for name in every if not (of_hour and name == HOUR)]


def of_kind(of: DocumentKind, names: Sequence[str]) -> Sequence[str]:
    """Return the dimensions that these documents have."""
    return names if of == "events" else [name for name in names if name not in OF_EVENTS]


def dimensions_in(combinations: Iterable[Sequence[str]]) -> list[str]:
    """Return the dimensions of all combinations, in the order of their stored names."""
    found = {name for names in combinations for name in names}
    return [name for name in _ORDER if name in found]


def needed_for(group_by: str, filters: Collection[str]) -> tuple[str, ...]:
    """Return the counted dimensions of a report, in the order of their stored names."""
    asked = {group_by, *filters}
    found = {one for name in asked for one in DIMENSIONS[name].derived_from or (name,)}
    if LINK not in found and (CURRENCY in found or {HOUR, EVENT} <= found):
        # It separates conversions without a click (`reports/joint_counts/unattributed`).
        found.add(DOMAIN)
    return tuple(name for name in _ORDER if name in found)


def wanted_values(name: str, values: Collection[Any], host: str) -> tuple[str, Sequence[str]]:
    """Return the counted dimension of a filter, and its values that pass.

    Documents have an empty text for `host`, the default domain.
    """
    texts, wanted = list(dict.fromkeys(map(str, values))), DIMENSIONS[name].filter
    if wanted is not None and (members := wanted.members) is not None:
        [counted] = DIMENSIONS[name].derived_from
        return counted, [value for text in texts for value in members(text)]
    return name, [*texts, ""] if name == DOMAIN and host in texts else texts


def text_of(name: str, host: str) -> Callable[[str], str]:
    """Return the function that has the text of a stored value, in lower case.

    Missing values have none.
    """
    called = dict.fromkeys((UNKNOWN, *DIMENSIONS[name].names), "")
    if name == DOMAIN:
        called[""] = host
    return lambda value: called.get(value, value).casefold()


def own_value(name: str, stored: str) -> str:
    """Return the value of an own parameter in a value of its column, which others had before."""
    value = stored.removeprefix(f"{name}=")
    return value if value != stored or stored == UNKNOWN else NO_VALUE


def stored_values(name: str, values: Collection[str]) -> Collection[str] | None:
    """Return the values of its column that the values of an own parameter stand for.

    None: also those of other names.
    """
    if NO_VALUE in values:
        return None
    return {*(f"{name}={value}" for value in values), *({UNKNOWN} & {*values})}
