"""What a report is asked for, and what it tells. Whoever makes a `Query` has checked its values."""

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Literal
from uuid import UUID

import msgspec

GroupBy = Literal[
    "link", "tag", "device", "country", "browser", "os", "day", "hour", "domain", "event"
]
Bots = Literal["exclude", "include", "only"]
Value = UUID | str


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """Days are UTC, both ends included.

    `filters` name the values that are let through, by dimension: ids of links and tags, others as
    clicks have them; hostnames under `domain`, that of the service for its default domain. Nothing
    is under a dimension that does not filter. `all_tags`: links have every tag, not just one.
    """

    account_id: UUID
    first: date
    last: date
    group_by: GroupBy
    filters: Mapping[str, Sequence[Value]] = {}
    all_tags: bool = False
    bots: Bots = "exclude"
    page: int = 1
    page_size: int = 25


class Measures(msgspec.Struct, frozen=True, kw_only=True):
    """`clicks` are those that `bots` asks for, and `unique_clicks` always people's. Money is in the
    units in which it was reported."""

    clicks: int
    unique_clicks: int
    bot_clicks: int
    conversions: int
    value: Decimal
    payout: Decimal

    @property
    def conversion_rate(self) -> float:
        """Conversions for each click, to six decimals; 0 without clicks."""
        return round(self.conversions / self.clicks, 6) if self.clicks else 0.0


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """`key` is the id or the value, `name` what a person reads."""

    key: str
    name: str
    measures: Measures


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of one page, how many there are on all pages, and what all add up to: `totals` cover
    what the filters let through, and count each click and conversion once."""

    rows: Sequence[Row]
    total_rows: int
    totals: Measures
