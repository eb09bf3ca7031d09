"""A report's query, with checked values, and the report."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Context, Decimal
from typing import Final, Literal, NamedTuple
from uuid import UUID

import msgspec
from msgspec.structs import replace

from tracker.access.principal import tags_within
from tracker.reports.dimensions import GROUPS, TAG
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
    "pending_conversions",
    "pending_value",
    "rejected_conversions",
    "refunded_value",
    "cost",
    "unknown_cost_clicks",
    "profit",
    "roi",
    "epc",
    "cpc",
    "cpa",
    "key",
    "name",
]
# Sums of money have up to 34 digits.
_EXACT: Final = Context(prec=50)

DERIVED: Final = ("conversion_rate", "profit", "roi", "epc", "cpc", "cpa")
"""The measures that follow from others."""

NO_FIGURES: Final = ("other_currencies", "has_other_payout", "unspread_cost", "other_costs")
"""The fields of measures that are not compared."""

Bots = Literal["exclude", "include", "only"]
Tests = Literal["exclude", "only"]
FilterValue = UUID | str


class Bound(NamedTuple):
    """A condition on a figure of rows; both ends are included."""

    measure: SortBy
    least: Decimal | None = None
    most: Decimal | None = None


class ReportQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A checked request for a report. Days are the account's, both included.

    - `filters` has the wanted values by dimension: ids, hostnames, or values as clicks have them.
    - `excluded` has values that do not pass. A click or conversion without a value passes.
    - `containing` and `not_containing` have texts, in any case, of which a value has any or none.
    - `all_tags`: links must have every tag, not just one.
    - `tests`: tests of the account are left out, or counted alone.
    - `sort` and `descending` order the rows, then their keys.
    - `by_change`: the rows are ordered by the difference to the days that they are compared with.
    - `levels` are the dimensions of a cross table: its rows are by one of them, `group_by`, below
      the rows `parents` of the levels before. Totals are then those of the last parent.
    - `until`: the last day ends at this moment.
    - `search`: only rows with this text in their name or key, in any case. Totals ignore it.
    - `having`: only rows whose figures pass all conditions. Totals ignore them.
    - `within`: whoever reads this sees only links with one of these tags; None: all.
    """

    account_id: UUID
    first: date
    last: date
    until: datetime | None = None
    group_by: GroupBy
    levels: Sequence[str] = ()
    parents: Sequence[str] = ()
    filters: Mapping[str, Sequence[FilterValue]] = {}
    excluded: Mapping[str, Sequence[FilterValue]] = {}
    containing: Mapping[str, Sequence[str]] = {}
    not_containing: Mapping[str, Sequence[str]] = {}
    all_tags: bool = False
    bots: Bots = "exclude"
    tests: Tests = "exclude"
    sort: SortBy = "clicks"
    descending: bool = True
    by_change: bool = False
    search: str | None = None
    having: Sequence[Bound] = ()
    page: int = 1
    page_size: int = DEFAULT_PAGE_ROWS
    within: frozenset[UUID] | None = None

    def limited_to(self, within: frozenset[UUID] | None) -> "ReportQuery":
        """Return the query of only the links with one of these tags, whatever its filters."""
        if within is None:
            return self
        tags, all_tags = tags_within(within, self.filters.get(TAG, ()), self.all_tags)
        filters, excluded = {**self.filters, TAG: tags}, {**self.excluded}
        if TAG in excluded:  # other tags tell nothing of these links
            excluded[TAG] = [one for one in excluded[TAG] if one in within]
        return replace(self, filters=filters, excluded=excluded, all_tags=all_tags, within=within)

    @property
    def filtered_by(self) -> frozenset[str]:
        """Return the dimensions of all filters."""
        return frozenset().union(self.filters, self.excluded, self.containing, self.not_containing)


class CurrencyMeasures(NamedTuple):
    """Approved conversions in one other currency than the account's, less what is refunded."""

    currency: str
    conversions: int
    value: Decimal
    payout: Decimal


class Measures(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of a row, or of all rows. Money is in the account's currency.

    `bots` decides about `clicks`, and `unique_clicks` are always people's. `attributed` are the
    conversions of `clicks`. Series have no `other_currencies`. `cost` is None if none is known.
    `has_other_payout`: `payout` lacks some, in other currencies, so what depends on it is None.
    Only totals have `unspread_cost`, a part of `cost`, and `other_costs`, by currency.
    """

    clicks: int
    unique_clicks: int
    bot_clicks: int
    conversions: int
    attributed: int
    value: Decimal
    payout: Decimal
    pending_conversions: int = 0
    pending_value: Decimal = Decimal(0)
    rejected_conversions: int = 0
    refunded_value: Decimal = Decimal(0)
    other_currencies: tuple[CurrencyMeasures, ...] = ()
    cost: Decimal | None = None
    unknown_cost_clicks: int = 0
    has_other_payout: bool = False
    unspread_cost: Decimal = Decimal(0)
    other_costs: tuple[tuple[str, Decimal], ...] = ()

    @property
    def conversion_rate(self) -> float:
        """Return the attributed conversions per click, to six decimals; 0 without clicks."""
        return round(self.attributed / self.clicks, 6) if self.clicks else 0.0

    @property
    def profit(self) -> Decimal | None:
        if self.cost is None or self.has_other_payout:
            return None
        return Decimal(f"{_EXACT.subtract(self.payout, self.cost).normalize(_EXACT):f}")

    @property
    def roi(self) -> float | None:
        return _rate(self.profit, self.cost)

    @property
    def epc(self) -> float | None:
        return _rate(None if self.has_other_payout else self.payout, self.clicks)

    @property
    def cpc(self) -> float | None:
        return _rate(self.cost, self.clicks)

    @property
    def cpa(self) -> float | None:
        return _rate(self.cost, self.conversions)


def _rate(amount: Decimal | None, of: Decimal | int | None) -> float | None:
    return round(float(amount) / float(of), 6) if amount is not None and of else None


class GroupRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row: `key` is the id or the value, `name` its text for people."""

    key: str
    name: str
    measures: Measures


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """One page of rows, the number of all rows, and the totals: each click counts once."""

    rows: Sequence[GroupRow]
    total_rows: int
    totals: Measures
