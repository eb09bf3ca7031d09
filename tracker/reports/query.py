"""A report's query, with checked values, and the report."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Literal
from uuid import UUID

import msgspec

from tracker.reports.dimensions import GROUPS
from tracker.reports.limits import DEFAULT_PAGE_ROWS

GroupBy = Literal[GROUPS]  # type: ignore[valid-type]  # the table is the one list
SortBy = Literal[
    "clicks",
    "unique_clicks",
    "bot_clicks",
    "conversions",
    "conversion_rate",
    "value",
    "payout",
    "key",
    "name",
]
Bots = Literal["exclude", "include", "only"]
Tests = Literal["exclude", "only"]
Value = UUID | str


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """A checked request for a report. Days are the account's, both ends included.

    - `filters` has the wanted values by dimension: ids of links, tags and event configurations,
      hostnames (the service's own for the default domain), others as clicks have them.
    - `all_tags`: links must have every tag, not just one.
    - `tests`: the clicks and conversions that the account has made as tests are counted alone, or
      not at all.
    - `sort` and `descending` order the rows; equal ones are in the order of their keys.
    - `until`: only what was before this moment of the last day.
    - `search`: only rows whose name or key has this text, in any case; totals are of all rows.
    """

    account_id: UUID
    first: date
    last: date
    until: datetime | None = None
    group_by: GroupBy
    filters: Mapping[str, Sequence[Value]] = {}
    all_tags: bool = False
    bots: Bots = "exclude"
    tests: Tests = "exclude"
    sort: SortBy = "clicks"
    descending: bool = True
    search: str | None = None
    page: int = 1
    page_size: int = DEFAULT_PAGE_ROWS


class Measures(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of a row or of all rows.

    `clicks` are counted as `bots` says, `unique_clicks` are always people's. `attributed` are the
    conversions of those `clicks`. Money is in the units in which it was reported.
    """

    clicks: int
    unique_clicks: int
    bot_clicks: int
    conversions: int
    attributed: int
    value: Decimal
    payout: Decimal

    @property
    def conversion_rate(self) -> float:
        """Return the attributed conversions per click, to six decimals; 0 without clicks."""
        return round(self.attributed / self.clicks, 6) if self.clicks else 0.0


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A row: `key` is the id or the value, `name` its text for people."""

    key: str
    name: str
    measures: Measures


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """One page of rows, the number of rows on all pages, and the totals.

    `totals` count each click and conversion that matches the filters once.
    """

    rows: Sequence[Row]
    total_rows: int
    totals: Measures
