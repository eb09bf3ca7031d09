"""The filters of reports, and the rules of their values."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from tracker.clicks.enrich import MAX_OWN_CHARACTERS
from tracker.links.options import CLICK_PARAMETER
from tracker.reports.dimensions import FILTER_NAMES, FILTERS, OWN_PREFIX
from tracker.reports.query import Bots, FilterValue, Tests
from tracker.web.export import INTERNAL
from tracker.web.limits import MAX_FILTER_VALUES, MAX_QUOTED_NAME_CHARACTERS
from tracker.web.schema import FilterText


def dimension_in(names: Collection[str]) -> Any:
    """Return the type of the name of a dimension: one of `names`, or an own parameter.

    `check_dimension` checks it.
    """
    own = f"^{OWN_PREFIX}{CLICK_PARAMETER.pattern}$"
    schemas = [{"type": "string", "enum": [*names]}, {"type": "string", "pattern": own}]
    return Annotated[str, Meta(extra_json_schema={"anyOf": schemas})]


def check_dimension(field: str, name: str, names: Collection[str]) -> None:
    """Raises ValueError, which names the `field`, if `name` cannot be a dimension."""
    if name not in names and not is_own(name):
        choices = " or ".join(sorted(names))
        raise ValueError(f"{field}: must be {choices} or {OWN_PREFIX} with a name")


def is_own(name: str) -> bool:
    own = name.removeprefix(OWN_PREFIX)
    return own != name and CLICK_PARAMETER.fullmatch(own) is not None


if TYPE_CHECKING:
    FilterName = str
else:
    FilterName = dimension_in(FILTER_NAMES)

TagOperator = Annotated[
    Literal["OR", "AND"],
    Meta(description="OR: links with any of the tags (default); AND: with all of them"),
]
_TEXT: Final = {"type": "string", "maxLength": MAX_OWN_CHARACTERS}
OwnFilters = Annotated[
    list[Any],
    Meta(
        extra_json_schema={
            INTERNAL: True,
            "additionalProperties": {
                "description": "by one of the sender's own parameters, such as parameter:sub1: its "
                "values as reports show them; none: clicks without it",
                "anyOf": [_TEXT, {"type": "array", "items": _TEXT, "maxItems": MAX_FILTER_VALUES}],
            },
        }
    ),
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
    own: OwnFilters | UnsetType = field(name=OWN_PREFIX, default=UNSET)

    def __post_init__(self) -> None:
        self.own = checked_own(self.own)
        for name, values in self.values().items():
            if name in FILTERS and (canonical := FILTERS[name].canonical):
                setattr(self, name, [canonical(str(one)) for one in values])

    def values(self) -> dict[str, list[FilterValue]]:
        """Return the values of each filter, without empty ones."""
        given = {name: getattr(self, name) for name in FILTERS}
        given |= _own({OWN_PREFIX: self.own or ()})
        return {name: _as_list(value) for name, value in given.items() if value != []}


def checked_own(own: OwnFilters | UnsetType) -> OwnFilters | UnsetType:
    """Return the filters by own parameters with lists of values. Raises ValueError as above."""
    if isinstance(own, UnsetType):
        return own
    return [(name, _own_values(name, values)) for name, values in own]


def as_sent(filters: Mapping[str, Any]) -> dict[str, Any]:
    """Return filters as clients send them, from those of `ReportFilters` in JSON."""
    sent = {name: values for name, values in filters.items() if name != OWN_PREFIX}
    return sent | _own(filters)


def _own(filters: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{OWN_PREFIX}{name}": values for name, values in filters.get(OWN_PREFIX, ())}


def _own_values(name: str, value: Any) -> list[str]:
    """Return the values of a filter by an own parameter. Raises ValueError if they are none."""
    field = f"{OWN_PREFIX}{name[:MAX_QUOTED_NAME_CHARACTERS]}"
    if not is_own(f"{OWN_PREFIX}{name}"):
        raise ValueError(f"{field}: unknown field")
    values: list[Any] = value if isinstance(value, list) else [value]
    if len(values) > MAX_FILTER_VALUES or not all(map(_is_text, values)):
        raise ValueError(
            f"{field}: must be text of at most {MAX_OWN_CHARACTERS} characters, or a list of at "
            f"most {MAX_FILTER_VALUES}"
        )
    return _as_list(values)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= MAX_OWN_CHARACTERS


def _as_list(value: Any) -> list[Any]:
    return list(dict.fromkeys(value)) if isinstance(value, list) else [value]
