"""A report's query, whose values its maker has checked, and the report."""

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
    """A checked request for a report. Days are UTC, both ends included.

    `filters` has the values that are let through, by dimension that filters: ids of links and tags,
    hostnames (that of the service for its default domain), others as clicks have them. `all_tags`:
    links must have every tag, not just one.
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
    """The figures of a row or of all rows.

    `clicks` are counted as `bots` says, `unique_clicks` are always people's. Money is in the units
    in which it was reported.
    """

    clicks: int
    unique_clicks: int
    bot_clicks: int
    conversions: int
    value: Decimal
    payout: Decimal

    @property
    def conversion_rate(self) -> float:
        """Return conversions for each click, to six decimals; 0 without clicks."""
        return round(self.conversions / self.clicks, 6) if self.clicks else 0.0


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One row: `key` is the id or the value, `name` what a person reads."""

    key: str
    name: str
    measures: Measures


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """One page of rows, the number of rows on all pages, and the totals.

    `totals` cover everything that the filters let through, each click and conversion once.
    """

    rows: Sequence[Row]
    total_rows: int
    totals: Measures
