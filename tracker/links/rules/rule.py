"""The rules and splits of a link, as they are stored and cached.

The first rule whose conditions all hold decides. It leads to one destination or to a split.
"""

from collections.abc import Iterator
from typing import Final
from uuid import UUID

import msgspec
from msgspec import field

MAX_RULES: Final = 20
MAX_CONDITIONS: Final = 10
MIN_VARIANTS: Final = 2
MAX_VARIANTS: Final = 10

DECIDES: Final = "decides"
"""The field of accounts that have, or had, a link with rules or a split."""


class _Part(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part of a rule."""


class QueryMatch(_Part, frozen=True, kw_only=True):
    """A parameter of the visitor's query. Without `values` it only has to be there."""

    key: str
    values: list[str] | None = None


class TimeMatch(_Part, frozen=True, kw_only=True):
    """A time in `zone`. What is given must all hold.

    - `weekdays` are 1 (Monday) to 7, `hours` 0 to 23.
    - `from_` and `to` are both `09:00`, of each day (over midnight if `to` is earlier), or both
      `2026-12-24T18:00`, of which one may be missing. `to` itself is over.
    """

    zone: str
    weekdays: list[int] = []
    hours: list[int] = []
    from_: str | None = field(default=None, name="from")
    to: str | None = None


class Condition(_Part, frozen=True, kw_only=True):
    """One kind of condition: any of its values. `not_` turns it round."""

    country: list[str] = []
    language: list[str] = []
    device: list[str] = []
    os: list[str] = []
    browser: list[str] = []
    referrer: list[str] = []
    ip: list[str] = []
    query: QueryMatch | None = None
    time: TimeMatch | None = None
    not_: bool = field(default=False, name="not")


KINDS: Final = tuple(name for name in Condition.__struct_fields__ if name != "not_")


def kind_of(condition: Condition) -> str:
    """Return the one kind that the condition has."""
    return next(name for name in KINDS if getattr(condition, name))


class Variant(_Part, frozen=True, kw_only=True):
    """A destination of a split. Its share of the visitors follows from the active weights."""

    id: UUID
    name: str
    destination_url: str
    weight: int
    active: bool = True


class Split(_Part, frozen=True, kw_only=True):
    """The variants of a split. `secret` is of the draw, in hex, and never shown."""

    variants: list[Variant]
    secret: str


class Rule(_Part, frozen=True, kw_only=True):
    """A rule. It has either a destination or a split."""

    id: UUID
    name: str
    conditions: list[Condition]
    destination_url: str | None = None
    split: Split | None = None


class Deciding(_Part, frozen=True, kw_only=True):
    """All that decides where the visitors of a link go."""

    rules: list[Rule] = []
    split: Split | None = None

    def splits(self) -> Iterator[tuple[Rule | None, Split]]:
        """Yield each split with its rule; None: the link's own."""
        for rule in self.rules:
            if rule.split is not None:
                yield rule, rule.split
        if self.split is not None:
            yield None, self.split
