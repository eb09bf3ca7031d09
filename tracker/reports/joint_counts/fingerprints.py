"""Fingerprints of a period's rollups. Cached counts with an equal fingerprint are valid.

Clicks and counted events are only ever added. A value that moves adds to `changes` or `corrections`
(`reports/rollups/rollup`).
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from typing import Any, Final, NamedTuple

from tracker.reports.columns import CLICK_MEASURES, COST_MEASURES, COUNTED_ONCE, FURTHER, Columns
from tracker.reports.dimensions import DocumentKind
from tracker.reports.periods import Period
from tracker.reports.rollups.layout import CHANGES, CORRECTIONS
from tracker.reports.rollups.money import whole_number
from tracker.reports.rollups.shared_rollups import SharedRollups
from tracker.stores.mongodb.reads import MongoReads

_OF_ALL: Final = (*CLICK_MEASURES, "conversions", CHANGES, CORRECTIONS, FURTHER)
_SUMMED: Final = (*_OF_ALL, *COUNTED_ONCE[1:], *COST_MEASURES)
"""The last are read only where FURTHER is: most accounts have none."""

_TOTALS: Final = [f"total.{name}" for name in _SUMMED]


class Fingerprint(NamedTuple):
    """The sums of a period's rollups, and how often they were changed and corrected.

    Every event is of one of the four kinds of conversions. `further` have more measures.
    """

    clicks: int = 0
    unique: int = 0
    bots: int = 0
    conversions: int = 0
    changes: int = 0
    corrections: int = 0
    further: int = 0
    pending: int = 0
    rejected: int = 0
    refunded: int = 0
    costed: int = 0
    cost_unknown: int = 0
    cost: int = 0
    bot_costed: int = 0
    bot_cost_unknown: int = 0
    bot_cost: int = 0

    @property
    def events(self) -> int:
        return self.conversions + self.pending + self.rejected + self.refunded

    def of(self, documents: DocumentKind) -> list[int]:
        """Return the part of the fingerprint that counts of clicks, or of events, depend on."""
        if documents == "clicks":
            return [self.clicks, self.unique, self.bots, self.corrections]
        return [self.events, self.changes, self.corrections]

    def count(self, documents: DocumentKind) -> int:
        return self.clicks + self.bots if documents == "clicks" else self.events

    def of_table(self, documents: DocumentKind, counted: Columns) -> list[int]:
        """Return the fingerprint of `counted`, which may be a part of the period's counts."""
        if documents == "clicks":
            return [*map(counted.total, CLICK_MEASURES), self.corrections]
        return [sum(map(counted.total, COUNTED_ONCE)), self.changes, self.corrections]

    def equals(self, documents: DocumentKind, counted: Columns) -> bool:
        return self.of_table(documents, counted) == self.of(documents)

    def continues(self, documents: DocumentKind, before: Sequence[int]) -> bool:
        """Return whether documents were only added since the fingerprint `before`."""
        changed = len(CLICK_MEASURES) if documents == "clicks" else 1
        return self.of(documents)[changed:] == list(before)[changed:]

    def uncounted(self, documents: DocumentKind, before: Sequence[int] | None) -> int:
        """Return the number of documents that counts with the fingerprint `before` lack."""
        if before is None or not self.continues(documents, before):
            return self.count(documents)
        counted = before[0] + before[2] if documents == "clicks" else before[0]
        return self.count(documents) - counted

    def missing(self, counted: Columns) -> dict[str, int]:
        """Return the clicks that `counted` lacks since retention deleted them, by measure.

        Their costs are in it if there are any.
        """
        measures = (*CLICK_MEASURES, *(COST_MEASURES if self.further else ()))
        by_measure = {name: getattr(self, name) - counted.total(name) for name in measures}
        return by_measure if any(by_measure.values()) else {}


class _Day:
    """The sums of a day and of its hours, in the order of _SUMMED. Hours are texts such as `09`."""

    __slots__ = ("hours", "total")

    def __init__(self) -> None:
        self.total = [0] * len(_SUMMED)
        self.hours: defaultdict[str, list[int]] = defaultdict(lambda: [0] * len(_SUMMED))


class Fingerprints:
    """The fingerprints of periods in one snapshot. `matching` selects the rollups.

    Those of a link may be `shared` with other readers.
    """

    def __init__(
        self, reader: MongoReads, matching: Mapping[str, Any], shared: SharedRollups | None = None
    ) -> None:
        self._reader = reader
        self._matching = matching
        self._shared = shared
        self._months: dict[str, list[int]] = {}
        self._days: dict[str, _Day] = {}
        self._with_hours: set[str] = set()

    async def read(self, periods: Sequence[Period]) -> None:
        months = {one.key for one in periods if one.kind == "month"} - self._months.keys()
        days = {one.first.isoformat() for one in periods if one.kind != "month"}
        with_hours = {one.first.isoformat() for one in periods if one.kind in ("hour", "hours")}
        with_hours -= self._with_hours
        if months:
            await self._read_months(months)
        if with_hours:
            await self._read_days(with_hours, [*_TOTALS, "hour"])
            self._with_hours |= with_hours
        if days - self._days.keys():
            await self._read_days(days - self._days.keys(), _TOTALS)

    def of(self, period: Period) -> Fingerprint:
        if period.kind == "month":
            return Fingerprint(*self._months.get(period.key, ()))
        day = self._days[period.first.isoformat()]
        if period.kind == "day":
            return Fingerprint(*day.total)
        numbers = range(period.hours) if period.hour is None else [period.hour]
        hours = [day.hours[hour] for hour in map("{:02}".format, numbers) if hour in day.hours]
        if not hours:
            return Fingerprint()
        sums = Fingerprint(*map(sum, zip(*hours, strict=True)))
        return sums._replace(corrections=sums.corrections + _of_whole_day(day))

    async def _read_months(self, months: Set[str]) -> None:
        # MongoDB adds up the days: two years have 731.
        month = {"$substrBytes": ["$_id.day", 0, len("2026-01")]}
        of_range = {"_id.day": {"$gte": min(months), "$lte": f"{max(months)}-31"}}
        for names in (_OF_ALL, _SUMMED):
            sums = {name: {"$sum": f"$total.{name}"} for name in names}
            match = {"$match": {**self._matching, **of_range}}
            rows = await self._reader.aggregate(
                "rollups", [match, {"$group": {"_id": month, **sums}}]
            )
            self._months |= {
                row["_id"]: [whole_number(row[name]) for name in names] for row in rows
            }
            if not any(row[FURTHER] for row in rows):
                return

    async def _read_days(self, days: Set[str], fields: Sequence[str]) -> None:
        self._days.update({day: _Day() for day in days})
        rows = None
        if self._shared is not None:
            rows = await self._shared.of_days(self._reader, self._matching, days)
        if rows is None:
            of_days = {**self._matching, "_id.day": {"$in": sorted(days)}}
            rows = await self._reader.find("rollups", of_days, fields)
        for row in rows:
            day = self._days[row["_id"]["day"]]
            _add(day.total, row.get("total", {}))
            for hour, cell in row.get("hour", {}).items():
                _add(day.hours[hour], cell)


def _of_whole_day(day: _Day) -> int:
    """Return the number of corrections that are not those of one hour."""
    number = _SUMMED.index(CORRECTIONS)
    return day.total[number] - sum(hour[number] for hour in day.hours.values())


def _add(sums: list[int], cell: Mapping[str, int]) -> None:
    for number, name in enumerate(_SUMMED if FURTHER in cell else _OF_ALL):
        sums[number] += whole_number(cell.get(name, 0))
