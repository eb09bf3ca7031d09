"""The figures of reports as answers have them: of rows, totals and steps, and their change."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

Count = int | UnsetType
Unique = (
    Annotated[int, Meta(description="first clicks of visitors on a link and day; never a bot's")]
    | UnsetType
)
Rate = (
    Annotated[
        float,
        Meta(
            description="conversions of these clicks / clicks, to six decimals; 0 without clicks. "
            "Conversions without a click are left out"
        ),
    ]
    | UnsetType
)
Money = Decimal | UnsetType
Cost = (
    Annotated[
        Decimal | None,
        Meta(description="known costs of clicks, bots' too; null where none is known"),
    ]
    | UnsetType
)
Fraction = (
    Annotated[
        float | None,
        Meta(description="0.25 is a quarter more than before; null where it was 0 or null"),
    ]
    | UnsetType
)


CurrencyCode = Annotated[str, Meta(description="ISO 4217", examples=["EUR"])]
AccountCurrency = (
    Annotated[str, Meta(description="the account's, of all money here", examples=["EUR"])]
    | UnsetType
)


class ReportMeasures(msgspec.Struct, kw_only=True):
    """The figures of a report or of one of its rows: all, or the ones in `columns`."""

    clicks: Count = UNSET
    unique_clicks: Unique = field(default=UNSET, name="uniqueClicks")
    bot_clicks: Count = field(default=UNSET, name="botClicks")
    conversions: Count = UNSET
    conversion_rate: Rate = field(default=UNSET, name="conversionRate")
    value: Money = UNSET
    payout: Money = UNSET
    pending_conversions: Count = field(default=UNSET, name="pendingConversions")
    pending_value: Money = field(default=UNSET, name="pendingValue")
    rejected_conversions: Count = field(default=UNSET, name="rejectedConversions")
    refunded_value: Money = field(default=UNSET, name="refundedValue")
    cost: Cost = UNSET
    unknown_cost_clicks: Count = field(default=UNSET, name="unknownCostClicks")
    profit: Annotated[Decimal | None, Meta(description="payout - cost")] | UnsetType = UNSET
    roi: Annotated[float | None, Meta(description="profit / cost")] | UnsetType = UNSET
    epc: Annotated[float | None, Meta(description="payout / clicks")] | UnsetType = UNSET
    cpc: Annotated[float | None, Meta(description="cost / clicks")] | UnsetType = UNSET
    cpa: Annotated[float | None, Meta(description="cost / conversions")] | UnsetType = UNSET


MEASURE_FIELDS: Final[Mapping[str, Any]] = {
    one.encode_name: one.name for one in msgspec.structs.fields(ReportMeasures)
}
"""The measures of an answer, and their names in `Measures`."""

OF_CURRENCIES: Final = frozenset(("conversions", "value", "payout"))
"""The measures beside which other currencies are told."""

OF_STATUS: Final = ("pendingConversions", "pendingValue", "rejectedConversions", "refundedValue")

OF_COST: Final = ("cost", "unknownCostClicks", "profit", "roi", "cpc", "cpa")
"""The measures that tell what an account pays."""

_NAMES: Final = tuple(MEASURE_FIELDS)
MeasureName = Literal[_NAMES]  # type: ignore[valid-type]


class ReportChange(msgspec.Struct, kw_only=True):
    """The change of each figure, as a fraction of its previous value."""

    clicks: Fraction = UNSET
    unique_clicks: Fraction = field(default=UNSET, name="uniqueClicks")
    bot_clicks: Fraction = field(default=UNSET, name="botClicks")
    conversions: Fraction = UNSET
    conversion_rate: Fraction = field(default=UNSET, name="conversionRate")
    conversion_rate_points: (
        Annotated[
            float | None,
            Meta(
                description="the difference of the rates: 0.004 is 0.4 percentage points more; "
                "null unless both have clicks"
            ),
        ]
        | UnsetType
    ) = field(default=UNSET, name="conversionRatePoints")
    value: Fraction = UNSET
    payout: Fraction = UNSET
    pending_conversions: Fraction = field(default=UNSET, name="pendingConversions")
    pending_value: Fraction = field(default=UNSET, name="pendingValue")
    rejected_conversions: Fraction = field(default=UNSET, name="rejectedConversions")
    refunded_value: Fraction = field(default=UNSET, name="refundedValue")
    cost: Fraction = UNSET
    unknown_cost_clicks: Fraction = field(default=UNSET, name="unknownCostClicks")
    profit: Fraction = UNSET
    roi: Fraction = UNSET
    epc: Fraction = UNSET
    cpc: Fraction = UNSET
    cpa: Fraction = UNSET


class OtherCurrency(msgspec.Struct, kw_only=True):
    """Approved conversions in another currency than the account's, less what is refunded."""

    currency: CurrencyCode
    conversions: int
    value: Decimal
    payout: Decimal


class OtherCost(msgspec.Struct, kw_only=True):
    """Costs of periods in another currency than the account's."""

    currency: CurrencyCode
    cost: Decimal


class FiguresOfAll(ReportMeasures, kw_only=True):
    """The figures in the account's currency, and what came in others."""

    other_currencies: (
        Annotated[list[OtherCurrency], Meta(description="by code; missing if there are none")]
        | UnsetType
    ) = field(default=UNSET, name="otherCurrencies")
    unspread_cost: (
        Annotated[
            Decimal,
            Meta(description="the part of `cost` that met no click; of totals, missing if 0"),
        ]
        | UnsetType
    ) = field(default=UNSET, name="unspreadCost")
    other_costs: (
        Annotated[list[OtherCost], Meta(description="of totals; missing if there are none")]
        | UnsetType
    ) = field(default=UNSET, name="otherCosts")


Previous = (
    Annotated[ReportMeasures, Meta(description="figures of the days to compare with")] | UnsetType
)
Changed = Annotated[ReportChange, Meta(description="since those days")] | UnsetType


class ReportTotals(FiguresOfAll, kw_only=True):
    """The figures of a whole report, and of the days to compare with."""

    previous: Previous = UNSET
    change: Changed = UNSET


class ReportRow(ReportTotals):
    """A row of a report: its key and name, and the fields of ReportTotals."""

    key: Annotated[str, Meta(description="id or value of the group")]
    name: Annotated[str, Meta(description="name of the group, for people")]


_Level = str | UnsetType


class FileRow(ReportRow, kw_only=True):
    """A row of a file. Those of a cross table have the keys and names of the rows above them too,
    from the outermost on.
    """

    key1: _Level = UNSET
    name1: _Level = UNSET
    key2: _Level = UNSET
    name2: _Level = UNSET
    key3: _Level = UNSET
    name3: _Level = UNSET


class ReportStep(ReportMeasures):
    """A step of a series: its key, and the fields of ReportMeasures."""

    key: Annotated[
        str,
        Meta(
            description="the hour, the day, the Monday of the week, or the month",
            examples=["2026-01-31T09:00Z", "2026-01-31", "2026-01-26", "2026-01"],
        ),
    ]
