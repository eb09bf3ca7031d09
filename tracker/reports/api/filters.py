"""The filters of reports, and the rules of their values."""

from collections.abc import Collection, Mapping
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, get_args
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from tracker.clicks.enrich import MAX_OWN_CHARACTERS
from tracker.links.options import CLICK_PARAMETER
from tracker.reports.dimensions import FILTER_NAMES, FILTERS, OWN_PREFIX, SEARCHED
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
Operator = Literal["is_", "is_not", "contains", "contains_not"]
"""The operators of a filter. `is` is a word of Python."""

_TEXTS: Final = Annotated[
    list[Annotated[str, Meta(min_length=1, max_length=100)]], Meta(max_length=10)
]


def described(values: Any, about: str) -> Any:
    return Annotated[values, Meta(description=about)] if about else values


@cache
def conditions(title: str, values: Any, *, has_texts: bool) -> Any:
    """Return the object of operators that a filter may be instead of its values."""
    fields = {
        "is_": described(values, "any of these values"),
        "is_not": described(values, "none of these values; what has no value passes"),
    }
    if has_texts:
        fields["contains"] = described(_TEXTS, "a value with any of these texts in it, in any case")
        fields["contains_not"] = described(_TEXTS, "a value with none of these texts in it")
    return msgspec.defstruct(
        f"{title}Conditions",
        [(name, one, []) for name, one in fields.items()],
        kw_only=True,
        forbid_unknown_fields=True,
        omit_defaults=True,
        rename={"is_": "is"},
    )


_OwnValues = Annotated[
    list[Annotated[str, Meta(max_length=MAX_OWN_CHARACTERS)]], Meta(max_length=MAX_FILTER_VALUES)
]
_OwnConditions = conditions("Own", _OwnValues, has_texts=True)
_LIST: Final = msgspec.json.schema(_OwnValues)
[_CONDITIONS] = msgspec.json.schema_components([_OwnConditions])[1].values()
for _one in _CONDITIONS["properties"].values():
    del _one["default"]
OwnFilters = Annotated[
    list[Any],
    Meta(
        extra_json_schema={
            INTERNAL: True,
            "additionalProperties": {
                "description": "by one of the sender's own parameters, such as parameter:sub1: its "
                "values as reports show them; none: clicks without it",
                "anyOf": [_LIST["items"], _LIST, _CONDITIONS],
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


def _filter_of(name: str) -> Any:
    one = FILTERS[name]
    title = "Id" if one.are_ids else name.capitalize() if one.choices else "Text"
    has_texts = name in SEARCHED
    kind = conditions(title + "Name" * has_texts, values_of(name), has_texts=has_texts)
    return one_value(name) | values_of(name) | kind


if TYPE_CHECKING:
    _OfDimensions = msgspec.Struct
else:
    _OfDimensions = msgspec.defstruct(
        "_OfDimensions",
        [
            (name, described(_filter_of(name), one.about + one.in_reports), [])
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
        for name, one in FILTERS.items():
            if (canonical := one.canonical) is None:
                continue
            value = getattr(self, name)
            has_operators = isinstance(value, msgspec.Struct)
            of, keys = (value, ("is_", "is_not")) if has_operators else (self, (name,))
            for key in keys:
                setattr(of, key, [canonical(str(text)) for text in _as_list(getattr(of, key))])

    def values(self, operator: Operator = "is_") -> dict[str, list[Any]]:
        """Return the values of each filter by an operator, without empty ones."""
        given = {name: getattr(self, name) for name in FILTERS}
        given |= _own({OWN_PREFIX: self.own or ()})
        found = {name: _values(value, operator) for name, value in given.items()}
        return {name: values for name, values in found.items() if values}

    def named_values(self) -> dict[str, list[FilterValue]]:
        """Return the whole values of each filter, wanted or not."""
        wanted, refused = self.values(), self.values("is_not")
        return {name: [*wanted.get(name, ()), *refused.get(name, ())] for name in wanted | refused}


def in_words(
    filters: ReportFilters, names: Mapping[str, Mapping[str, str]], hidden: Collection[str] = ()
) -> dict[str, Any]:
    """Return filters as clients send them, with names for values, and … for `hidden` texts."""
    found: dict[str, dict[str, list[str]]] = {}
    for operator in get_args(Operator):
        for name, values in filters.values(operator).items():
            if operator in ("is_", "is_not"):
                values = [names[name][str(one)] for one in values]
            elif name in hidden:
                values = ["…"]
            found.setdefault(name, {})[operator.rstrip("_")] = values
    return {name: one["is"] if [*one] == ["is"] else one for name, one in found.items()}


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


def _own_values(name: str, value: Any) -> Any:
    """Return the values of a filter by an own parameter. Raises ValueError if they are none."""
    field = f"{OWN_PREFIX}{name[:MAX_QUOTED_NAME_CHARACTERS]}"
    if not is_own(f"{OWN_PREFIX}{name}"):
        raise ValueError(f"{field}: unknown field")
    if isinstance(value, msgspec.Struct):
        return value
    try:
        given = value if isinstance(value, list | dict) else [value]
        return msgspec.convert(given, _OwnValues | _OwnConditions)
    except msgspec.ValidationError:
        raise ValueError(
            f"{field}: must be text of at most {MAX_OWN_CHARACTERS} characters, a list of at most "
            f"{MAX_FILTER_VALUES}, or an object of is, is_not, contains and contains_not"
        ) from None


def _values(value: Any, operator: Operator) -> list[Any]:
    if isinstance(value, msgspec.Struct):
        return _as_list(getattr(value, operator, []))
    return _as_list(value) if operator == "is_" else []


def _as_list(value: Any) -> list[Any]:
    return list(dict.fromkeys(value)) if isinstance(value, list) else [value]
