"""The filters of reports, and the rules of their values."""

from typing import TYPE_CHECKING, Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from tracker.reports.dimensions import FILTER_NAMES, FILTERS
from tracker.reports.query import Bots, FilterValue, Tests
from tracker.web.limits import MAX_FILTER_VALUES
from tracker.web.schema import FilterText

FilterName = Literal[FILTER_NAMES]  # type: ignore[valid-type]  # the table is the one list

TagOperator = Annotated[
    Literal["OR", "AND"],
    Meta(description="OR: links with any of the tags (default); AND: with all of them"),
]
BotsIn = Annotated[
    Bots,
    Meta(
        description="clicks of bots and prefetches: left out of clicks (exclude, the default), "
        "counted among them (include), or counted alone (only)"
    ),
]
TestsIn = Annotated[
    Tests,
    Meta(
        description="clicks and conversions that the account made as tests: left out (exclude, the "
        "default), or counted alone (only)"
    ),
]


def one_value(name: str) -> Any:
    wanted = FILTERS[name]
    if wanted.are_ids:
        return UUID
    return Literal[tuple(wanted.choices)] if wanted.choices else FilterText


def values_of(name: str) -> Any:
    value = one_value(name)
    return Annotated[list[value], Meta(max_length=MAX_FILTER_VALUES)]  # type: ignore[valid-type]


def described(values: Any, about: str) -> Any:
    return Annotated[values, Meta(description=about)] if about else values


if TYPE_CHECKING:
    _OfDimensions = msgspec.Struct
else:
    _OfDimensions = msgspec.defstruct(
        "_OfDimensions",
        [
            (name, described(one_value(name) | values_of(name), one.about + one.in_reports), [])
            for name, one in FILTERS.items()
        ],
        kw_only=True,
    )


class ReportFilters(_OfDimensions, forbid_unknown_fields=True, kw_only=True):
    """A value or a list for each filter. Every filter must match, by any of its values."""

    tag_operator: TagOperator | UnsetType = field(default=UNSET, name="tagOperator")
    bots: BotsIn | UnsetType = UNSET
    tests: TestsIn | UnsetType = UNSET

    def __post_init__(self) -> None:
        for name, values in self.values().items():
            if canonical := FILTERS[name].canonical:
                setattr(self, name, [canonical(str(one)) for one in values])

    def values(self) -> dict[str, list[FilterValue]]:
        """Return the values of each filter, without empty ones."""
        given = {name: getattr(self, name) for name in FILTERS}
        return {name: _as_list(value) for name, value in given.items() if value != []}


def _as_list(value: Any) -> list[Any]:
    return list(dict.fromkeys(value)) if isinstance(value, list) else [value]
