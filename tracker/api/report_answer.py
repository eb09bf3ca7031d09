"""The answers of `/api/reports`: measures, of which a request may choose some."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from tracker.reports.comparison import change_of
from tracker.reports.query import Measures, Row, SortBy
from tracker.reports.series import Step

Column = Literal[
    "clicks", "uniqueClicks", "botClicks", "conversions", "conversionRate", "value", "payout"
]
COLUMNS: Final[Mapping[str, SortBy]] = {
    "clicks": "clicks",
    "uniqueClicks": "unique_clicks",
    "botClicks": "bot_clicks",
    "conversions": "conversions",
    "conversionRate": "conversion_rate",
    "value": "value",
    "payout": "payout",
}
"""The measures of an answer, with their names in `Measures`."""

Count = int | UnsetType
Unique = (
    Annotated[int, Meta(description="first clicks of visitors on a link and day; never a bot's")]
    | UnsetType
)
Rate = (
    Annotated[float, Meta(description="conversions / clicks, to six decimals; 0 without clicks")]
    | UnsetType
)
Money = Decimal | UnsetType
Fraction = (
    Annotated[
        float | None,
        Meta(description="0.25 is a quarter more than before; null where it was 0"),
    ]
    | UnsetType
)


class ReportMeasures(msgspec.Struct, kw_only=True):
    """The figures of a report or of one of its rows: all, or those in `columns`."""

    clicks: Count = UNSET
    unique_clicks: Unique = field(default=UNSET, name="uniqueClicks")
    bot_clicks: Count = field(default=UNSET, name="botClicks")
    conversions: Count = UNSET
    conversion_rate: Rate = field(default=UNSET, name="conversionRate")
    value: Money = UNSET
    payout: Money = UNSET


class ReportChange(msgspec.Struct, kw_only=True):
    """The change of each figure, as a fraction of what it was."""

    clicks: Fraction = UNSET
    unique_clicks: Fraction = field(default=UNSET, name="uniqueClicks")
    bot_clicks: Fraction = field(default=UNSET, name="botClicks")
    conversions: Fraction = UNSET
    conversion_rate: Fraction = field(default=UNSET, name="conversionRate")
    value: Fraction = UNSET
    payout: Fraction = UNSET


Previous = (
    Annotated[ReportMeasures, Meta(description="of the days to compare with, if any")] | UnsetType
)
Changed = Annotated[ReportChange, Meta(description="since then")] | UnsetType


class ReportTotals(ReportMeasures, kw_only=True):
    """The figures of a whole report, and of the days to compare with."""

    previous: Previous = UNSET
    change: Changed = UNSET


class ReportRow(msgspec.Struct, kw_only=True):
    """A row of a report: its key and name, and the fields of ReportTotals."""

    key: Annotated[str, Meta(description="id or value of the group")]
    name: Annotated[str, Meta(description="name of the group, for people")]
    clicks: Count = UNSET
    unique_clicks: Unique = field(default=UNSET, name="uniqueClicks")
    bot_clicks: Count = field(default=UNSET, name="botClicks")
    conversions: Count = UNSET
    conversion_rate: Rate = field(default=UNSET, name="conversionRate")
    value: Money = UNSET
    payout: Money = UNSET
    previous: Previous = UNSET
    change: Changed = UNSET


class ReportStep(msgspec.Struct, kw_only=True):
    """A step of a series: its key, and the fields of ReportMeasures."""

    key: Annotated[
        str,
        Meta(
            description="the hour, the day, the Monday of the week, or the month",
            examples=["2026-01-31T09:00Z", "2026-01-31", "2026-01-26", "2026-01"],
        ),
    ]
    clicks: Count = UNSET
    unique_clicks: Unique = field(default=UNSET, name="uniqueClicks")
    bot_clicks: Count = field(default=UNSET, name="botClicks")
    conversions: Count = UNSET
    conversion_rate: Rate = field(default=UNSET, name="conversionRate")
    value: Money = UNSET
    payout: Money = UNSET


class Shown:
    """The form of the figures in an answer that shows these columns, all without any."""

    def __init__(self, columns: Sequence[Column] | UnsetType) -> None:
        wanted: Iterable[str] = COLUMNS if isinstance(columns, UnsetType) else columns
        self._fields: list[str] = [COLUMNS[name] for name in wanted]

    def measures(self, measures: Measures) -> ReportMeasures:
        """Return measures."""
        return ReportMeasures(**self._chosen(measures))

    def change(self, now: Measures, before: Measures) -> ReportChange:
        """Return the change of measures."""
        return ReportChange(**self._chosen(change_of(now, before)))

    def totals(self, now: Measures, before: Measures | None) -> ReportTotals:
        """Return totals, compared with those `before` if there are any."""
        return ReportTotals(**self._chosen(now), **self._compared(now, before))

    def row(self, row: Row, before: Measures | None) -> ReportRow:
        """Return a row, compared with what it was `before` if that is known."""
        now = row.measures
        compared = self._compared(now, before)
        return ReportRow(key=row.key, name=row.name, **self._chosen(now), **compared)

    def steps(self, steps: Iterable[Step]) -> list[ReportStep]:
        """Return the steps of a series."""
        return [ReportStep(key=step.key, **self._chosen(step.measures)) for step in steps]

    def _chosen(self, of: object) -> dict[str, Any]:
        return {name: getattr(of, name) for name in self._fields}

    def _compared(self, now: Measures, before: Measures | None) -> dict[str, Any]:
        if before is None:
            return {}
        return {"previous": self.measures(before), "change": self.change(now, before)}
