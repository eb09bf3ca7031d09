"""What the rows of a report are by: a dimension, or the levels of a cross table."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta

from tracker.clicks.enrich import MAX_OWN_CHARACTERS
from tracker.reports.api.filters import check_dimension, dimension_in
from tracker.reports.dimensions import GROUPS

MAX_LEVELS: Final = 3

if TYPE_CHECKING:
    GroupBy = str
else:
    GroupBy = dimension_in(GROUPS)


GroupByIn = Annotated[
    GroupBy,
    Meta(
        description="one row for each. The first report by a combination of dimensions counts each "
        "day by it, and takes longer; the counts are cached"
    ),
]
Levels = Annotated[
    list[GroupBy],
    Meta(
        min_length=1,
        max_length=MAX_LEVELS,
        description="a cross table: rows by the first dimension, with those by the next below each",
    ),
]
Parents = Annotated[
    list[Annotated[str, Meta(min_length=1, max_length=MAX_OWN_CHARACTERS)]],
    Meta(
        max_length=MAX_LEVELS - 1,
        description="the keys of a row and of those above it, outermost first: the rows below it, "
        "and its own figures as totals",
    ),
]


def check_groups(field: str, group_by: str | Sequence[str]) -> None:
    """Raises ValueError, which names the `field`, if rows cannot be by it."""
    if isinstance(group_by, str):
        return check_dimension(field, group_by, GROUPS)
    for number, name in enumerate(group_by):
        check_dimension(f"{field}[{number}]", name, GROUPS)
        if name in group_by[:number]:
            raise ValueError(f"{field}[{number}]: {name} is a level already")
    return None


def check_parents(parents: Sequence[str], levels: Sequence[str]) -> None:
    """Raises ValueError if the rows of the table's last level have no rows below them."""
    if len(parents) >= len(levels):
        raise ValueError(f"parents: at most {len(levels) - 1}, one less than groupBy has")
