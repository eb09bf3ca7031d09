"""Conditions on the figures of rows, such as `{"clicks": {"min": 100}}`."""

from collections.abc import Collection, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from tracker.reports.api.figures import MEASURE_FIELDS
from tracker.reports.query import Bound

_MOST: Final = 10**25

Limit = Annotated[float, Meta(ge=-_MOST, le=_MOST)] | UnsetType


class FigureBounds(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """The smallest and the largest figure that a row may have, both included."""

    min: Limit = UNSET
    max: Limit = UNSET

    def __post_init__(self) -> None:
        if self.min is UNSET and self.max is UNSET:
            raise ValueError("min: needed, or max")
        if UNSET not in (self.min, self.max) and self.min > self.max:  # type: ignore[operator]
            raise ValueError("min: must not be above max")


if TYPE_CHECKING:
    _OfMeasures = msgspec.Struct
else:
    _OfMeasures = msgspec.defstruct(
        "_OfMeasures",
        [
            (name, FigureBounds | UnsetType, field(default=UNSET, name=encoded))
            for encoded, name in MEASURE_FIELDS.items()
        ],
        kw_only=True,
    )


class Having(_OfMeasures, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """Bounds of the figures of rows. A figure that is null passes none; totals are of all rows."""

    def bounds(self) -> Sequence[Bound]:
        found = []
        for name in MEASURE_FIELDS.values():
            of: FigureBounds | UnsetType = getattr(self, name)
            if not isinstance(of, UnsetType):
                found.append(Bound(name, _exact(of.min), _exact(of.max)))
        return found


HavingIn = Annotated[
    Having,
    Meta(description="only rows whose figures are within these bounds; totals are of all rows"),
]


def without(having: Having | UnsetType, hidden: Collection[str]) -> Having | UnsetType:
    """Return the conditions, but those on measures that are hidden."""
    if isinstance(having, UnsetType):
        return having
    return msgspec.structs.replace(having, **{MEASURE_FIELDS[name]: UNSET for name in hidden})


def _exact(limit: Any) -> Decimal | None:
    return None if limit is UNSET else Decimal(str(limit))
