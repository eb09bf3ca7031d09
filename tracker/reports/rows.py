"""The rows of a report, from the counts that it has read: keys, order, and one page. Pure."""

import heapq
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date
from decimal import Decimal
from itertools import islice
from typing import Any, Final

import numpy as np

from tracker.calendar import Calendar
from tracker.reports.columns import Codes, Column, Columns, Numbers
from tracker.reports.dimensions import HOUR, HOURS, LINK, NO_EVENT, NO_KEY
from tracker.reports.pipelines import DAY
from tracker.reports.query import Bots, Measures, SortBy
from tracker.reports.series import step_of

# Money is reported by the advertiser: it is not hidden because its click looked like a bot's.
_EXCLUDE: Final[Mapping[str, tuple[str, ...]]] = {
    "clicks": ("clicks",),
    "unique_clicks": ("unique",),
    "bot_clicks": ("bots",),
    "conversions": ("conversions",),
    "value": ("value",),
    "payout": ("payout",),
}
MEASURES: Final[Mapping[Bots, Mapping[str, tuple[str, ...]]]] = {
    "exclude": _EXCLUDE,
    "include": {**_EXCLUDE, "clicks": ("clicks", "bots")},
    "only": {
        "clicks": ("bots",),
        "unique_clicks": (),
        "bot_clicks": ("bots",),
        "conversions": ("bot_conversions",),
        "value": ("bot_value",),
        "payout": ("bot_payout",),
    },
}
"""The measures of reports, as sums of measures of counts, by how bots are counted."""

_LAST: Final = frozenset(NO_KEY.values())
"""Keys of links and event configurations that come after all others with the same figure."""

_SORTED_AT_ONCE: Final = 5000
"""Rows that are sorted at once, in some milliseconds. A sort lets no other thread run: that of two
million rows, which strangers can make by as many campaign names, would take seconds."""

_BILLIONTHS: Final = 10**9


class Rows:
    """The rows of a report: their keys, and an array for each measure, all in the same order."""

    def __init__(self, keys: Sequence[str], measures: Mapping[str, Numbers]) -> None:
        self.keys = keys
        self._measures = measures

    def chosen(self, keys: Collection[str]) -> "Rows":
        """Return the rows with these keys."""
        numbers = [number for number, key in enumerate(self.keys) if key in keys]
        return self.at(numbers)

    def ordered(
        self, by: SortBy, descending: bool, names: Mapping[str, str], at_most: int
    ) -> "Rows":
        """Return the first rows in an order; equal ones in the order of their keys.

        `names` has the name of each key if that is the order.
        """
        keys = self.keys
        if by == "key":
            return self.at(_first(range(len(keys)), keys.__getitem__, at_most, descending))
        if by == "name":
            shown = [names[key].casefold() for key in keys]
            by_key = _first(range(len(keys)), keys.__getitem__, len(keys))
            return self.at(_first(by_key, shown.__getitem__, at_most, descending))
        figures = self._figures(by)
        signed = -figures if descending else figures
        candidates = self._smallest(signed, at_most)
        return self.at(candidates[np.argsort(signed[candidates], kind="stable")])

    def _smallest(self, figures: Numbers, count: int) -> Codes:
        """Return the numbers of the `count` smallest figures, in the order of their keys.

        Among equal figures those with the first keys are smaller.
        """
        if len(figures) <= count:
            return self._by_key(np.arange(len(figures)), count)
        limit = np.partition(figures, count - 1)[count - 1]
        less, equal = np.flatnonzero(figures < limit), np.flatnonzero(figures == limit)
        few = self._by_key(equal, count - len(less))
        return self._by_key(np.concatenate([less, few]), count)

    def _by_key(self, numbers: Codes, at_most: int) -> Codes:
        """Return the first of these numbers in the order of their keys, those of _LAST last."""
        last = [self.keys.index(one) for one in sorted(_LAST) if one in self.keys]
        is_last = np.isin(numbers, last)
        first = _first(numbers[~is_last].tolist(), self.keys.__getitem__, at_most)
        return np.array([*first, *(one for one in last if one in numbers)][:at_most], np.int64)

    def page(self, first: int, size: int) -> "Rows":
        """Return `size` rows from number `first` on."""
        return self.at(range(first, min(first + size, len(self.keys))))

    def measures(self) -> list[Measures]:
        """Return the measures of each row."""
        return [
            _measures({name: numbers[at] for name, numbers in self._measures.items()})
            for at in range(len(self.keys))
        ]

    def _figures(self, by: str) -> Numbers:
        if by != "conversion_rate":
            return self._measures[by]
        clicks = self._measures["clicks"].astype(float)
        conversions = self._measures["conversions"].astype(float)
        rates: Numbers = np.divide(
            conversions, clicks, out=np.zeros(len(clicks)), where=clicks != 0
        )
        return rates

    def at(self, numbers: Sequence[int] | Codes) -> "Rows":
        """Return the rows with these numbers, in their order."""
        chosen = np.array(numbers, np.int64)
        return Rows(
            [self.keys[number] for number in chosen.tolist()],
            {name: one[chosen] for name, one in self._measures.items()},
        )


def rows_of(
    table: Columns,
    group_by: str,
    bots: Bots,
    calendar: Calendar,
    host: str,
    tags: Mapping[str, Sequence[str]],
) -> Rows:
    """Return the rows of a report, without those in which all measures are zero.

    `tags` has the tags of each link if the report is grouped by them.
    """
    keyed = _keyed(table, group_by, calendar, host, tags).by([group_by])
    column = keyed.dimensions[group_by]
    measures = _of_bots(keyed, bots)
    shown = np.zeros(keyed.rows, bool)
    for numbers in measures.values():
        shown |= numbers != 0
    if group_by == "event":
        shown &= np.array([column.values[code] != NO_EVENT for code in column.codes], bool)
    chosen = np.flatnonzero(shown)
    return Rows(
        [column.values[code] for code in column.codes[chosen].tolist()],
        {name: one[chosen] for name, one in measures.items()},
    )


def totals_of(table: Columns, bots: Bots) -> Measures:
    """Return the sums of all counts, each click and conversion once."""
    return _measures({name: sum(map(table.total, of)) for name, of in MEASURES[bots].items()})


def _of_bots(table: Columns, bots: Bots) -> dict[str, Numbers]:
    found = {}
    for name, of in MEASURES[bots].items():
        sums = np.zeros(table.rows, np.int64 if name not in ("value", "payout") else object)
        for one in of:
            if one in table.measures:
                sums = sums + table.measures[one]
        found[name] = sums
    return found


def _keyed(
    table: Columns, group_by: str, calendar: Calendar, host: str, tags: Mapping[str, Sequence[str]]
) -> Columns:
    """Return the table with a column of the report's keys."""
    if group_by == "tag":
        return _by_tag(table, tags)
    if group_by in HOURS:
        return _by_hour(table, group_by, calendar)
    if group_by in _DAYS:
        return table.with_column(group_by, table.dimensions[DAY].mapped(_DAYS[group_by]))
    if group_by == "domain":
        column = table.dimensions[group_by].mapped(lambda name: name or host)
        return table.with_column(group_by, column)
    return table


_DAYS: Final[Mapping[str, Callable[[str], str]]] = {
    "day": str,
    "week": lambda day: step_of(day, "week"),
    "month": lambda day: step_of(day, "month"),
    "weekday": lambda day: str(date.fromisoformat(day).isoweekday()),
}
"""The key of each time dimension that is derived from the day."""


_HOURS: Final[Mapping[str, Callable[[Calendar, date, int], str]]] = {
    "hour": lambda calendar, day, hour: calendar.hour_text(day, hour),
    "hour_of_day": lambda calendar, day, hour: f"{calendar.clock_hour(day, hour):02}",
    "hour_of_week": lambda calendar, day, hour: (
        f"{day.isoweekday()}T{calendar.clock_hour(day, hour):02}"
    ),
}
"""The key of each time dimension that is derived from the number of the hour in its day."""


def _by_hour(table: Columns, group_by: str, calendar: Calendar) -> Columns:
    key_of = _HOURS[group_by]
    table = table.by([DAY, HOUR])
    days, hours = table.dimensions[DAY], table.dimensions[HOUR]
    keys = [
        key_of(calendar, date.fromisoformat(days.values[day]), int(hours.values[hour]))
        for day, hour in zip(days.codes, hours.codes, strict=True)
    ]
    return table.with_column(group_by, Column(keys, np.arange(len(keys))).mapped(str))


def _by_tag(table: Columns, tags: Mapping[str, Sequence[str]]) -> Columns:
    """Return the counts of each link once for each of its tags."""
    table = table.by([LINK])
    links = table.dimensions[LINK]
    of_rows = [tags.get(links.values[code], ()) for code in links.codes]
    rows = [number for number, found in enumerate(of_rows) for _ in found]
    names = [tag for found in of_rows for tag in found]
    repeated = table.of_rows(np.array(rows, np.int64))
    return repeated.with_column("tag", Column(names, np.arange(len(names))).mapped(str))


def _first(
    numbers: Sequence[int], place: Callable[[int], Any], at_most: int, descending: bool = False
) -> list[int]:
    """Return the first of these numbers by their places; equal ones stay in their order."""
    if at_most <= _SORTED_AT_ONCE:
        chosen = heapq.nlargest if descending else heapq.nsmallest
        return chosen(at_most, numbers, key=place)
    pieces = [
        sorted(numbers[start : start + _SORTED_AT_ONCE], key=place, reverse=descending)
        for start in range(0, len(numbers), _SORTED_AT_ONCE)
    ]
    return list(islice(heapq.merge(*pieces, key=place, reverse=descending), at_most))


def _measures(sums: Mapping[str, int]) -> Measures:
    return Measures(
        clicks=int(sums["clicks"]),
        unique_clicks=int(sums["unique_clicks"]),
        bot_clicks=int(sums["bot_clicks"]),
        conversions=int(sums["conversions"]),
        value=_money(sums["value"]),
        payout=_money(sums["payout"]),
    )


def _money(billionths: int) -> Decimal:
    """Return a sum without exponent or trailing zeros."""
    sign, whole = ("-" if billionths < 0 else ""), abs(int(billionths))
    units, rest = divmod(whole, _BILLIONTHS)
    return Decimal(f"{sign}{units}.{rest:09}".rstrip("0").rstrip("."))
