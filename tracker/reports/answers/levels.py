"""All rows of a cross table, from one reading of the counts by all of its levels.

The key of a row has those of the rows above it before its own.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from tracker.reports.answers.compared import other_days, paired_keys
from tracker.reports.answers.currencies import summed
from tracker.reports.answers.names import name_of, rows_with_text, stored_names
from tracker.reports.answers.one_report import Counts, read_counts
from tracker.reports.answers.rows import (
    SEPARATOR,
    PreviousRows,
    ReportRows,
    key_column,
    rows_by,
)
from tracker.reports.answers.tags import repeated_by_tag
from tracker.reports.columns import Columns, column_of
from tracker.reports.comparison import DayComparison
from tracker.reports.dimensions import TAG
from tracker.reports.joint_counts.report_run import ReportRun
from tracker.reports.limits import ROW_BYTES
from tracker.reports.query import GroupRow, Measures, ReportQuery
from tracker.reports.threads import in_thread_if_large

_PATH = "path"


class Level(NamedTuple):
    """The rows of a level in their order, and their numbers by key."""

    rows: ReportRows
    numbers: Mapping[str, int]
    previous: PreviousRows | None
    name_of: Callable[[str], str]

    def bytes(self) -> int:
        """Return their approximate size in memory."""
        return 2 * self.rows.bytes() + (self.previous.bytes() if self.previous else 0)


class CrossTable:
    """All rows of a cross table, each before those below it."""

    def __init__(self, levels: Sequence[Level]) -> None:
        self._levels = levels
        below = defaultdict[str, list[str]](list)
        for level in levels[1:]:
            for path in level.rows.keys:
                below[path.rpartition(SEPARATOR)[0]].append(path)
        self.paths: list[str] = []
        left = list(reversed(levels[0].rows.keys))
        while left:
            path = left.pop()
            self.paths.append(path)
            left += reversed(below.get(path, ()))

    def bytes(self) -> int:
        return sum(level.bytes() for level in self._levels)

    def piece(self, first: int, size: int) -> tuple[list[GroupRow], dict[str, Measures] | None]:
        """Return rows with their whole keys and names, and their measures on other days."""
        paths = self.paths[first : first + size]
        found: dict[str, GroupRow] = {}
        before: dict[str, Measures] = {}
        for depth, level in enumerate(self._levels):
            own = [path for path in paths if path.count(SEPARATOR) == depth]
            rows = level.rows.at([level.numbers[path] for path in own])
            for path, measures in zip(own, rows.measures(), strict=True):
                found[path] = GroupRow(key=path, name=self._name_of(path), measures=measures)
            if level.previous is not None:
                before |= level.previous.of([found[path] for path in own])
        has_previous = self._levels[0].previous is not None
        return [found[path] for path in paths], before if has_previous else None

    def _name_of(self, path: str) -> str:
        keys = path.split(SEPARATOR)
        return SEPARATOR.join(
            level.name_of(key) for level, key in zip(self._levels, keys, strict=False)
        )


async def read_cross_table(
    run: ReportRun, query: ReportQuery, comparison: DayComparison | None
) -> CrossTable:
    """Return all rows of all levels, in memory that the caller frees."""
    run.progress.expect(1 + (comparison is not None))
    days = None if comparison is None else await other_days(run, comparison)
    before = None
    if days is not None:
        async with run.part("compare", keeps_memory=True):
            before = await _read(run, days.of(query), query)
    async with run.part("report", keeps_memory=True):
        rows = await _read(run, query, query)
        levels = []
        for depth, dimension in enumerate(query.levels):
            wanted = replace(query, group_by=dimension, search=None if depth else query.search)
            previous = None if before is None else before[depth]
            levels.append(await _level(run, wanted, rows[depth], previous))
        count = sum(len(level.rows.keys) for level in levels)
        table = await in_thread_if_large(count, CrossTable, levels)
    run.memory.shrink_to(table.bytes())
    return table


async def _level(
    run: ReportRun, query: ReportQuery, rows: ReportRows, before: ReportRows | None
) -> Level:
    previous, change = None, None
    if before is not None:
        previous = await in_thread_if_large(len(before.keys), PreviousRows, before, None)
        rows = await in_thread_if_large(len(before.keys), rows.with_keys, previous.keys)
    count = len(rows.keys)
    rows = await in_thread_if_large(count, rows.having, query.having)
    if query.search:
        rows = await rows_with_text(run.reader, query, rows)
    if query.by_change and previous is not None:
        change = await in_thread_if_large(count, rows.change, query.sort, previous)
    keys = {path.rpartition(SEPARATOR)[2] for path in rows.keys}
    stored = await stored_names(run.reader, query.group_by, keys, query.within)

    def shown_name(path: str) -> str:
        return name_of(query.group_by, path.rpartition(SEPARATOR)[2], stored)

    order = query.sort, query.descending, shown_name, count, change
    rows = await in_thread_if_large(count, rows.ordered, *order)
    numbers = {path: number for number, path in enumerate(rows.keys)}
    return Level(rows, numbers, previous, shown_name)


async def _read(run: ReportRun, query: ReportQuery, shown: ReportQuery) -> list[ReportRows]:
    """Return the rows of each level in no order. Keys of time are those of the days `shown`."""
    counts, found = await read_counts(run, query), []
    for depth in range(len(query.levels)):
        table = await _with_level(run, query, shown, depth, counts.table)
        crossed = counts.crossed
        if crossed is not None:
            crossed = await _with_level(run, query, shown, depth, crossed)
        counts = Counts(table, crossed, None)
        rows = await in_thread_if_large(table.rows, _rows, query, depth, counts)
        await run.memory.take(rows.bytes())
        found.append(rows)
    return found


async def _with_level(
    run: ReportRun, query: ReportQuery, shown: ReportQuery, depth: int, table: Columns
) -> Columns:
    """Return the table with a column of a level's keys, without rows that have none."""
    name = query.levels[depth]
    if name == TAG:
        table = await repeated_by_tag(run, table, query.within)
        await run.memory.take(table.rows * ROW_BYTES)
    paired = None if shown is query else paired_keys(run.scope.calendar, name, shown, query)
    return await in_thread_if_large(table.rows, _keyed, run, table, name, depth, paired)


def _keyed(
    run: ReportRun, table: Columns, name: str, depth: int, paired: Mapping[str, str] | None
) -> Columns:
    column = table.dimensions[TAG] if name == TAG else key_column(table, name, run.scope, run.host)
    if paired is not None:
        counterparts = {other: key for key, other in paired.items()}
        column = column.mapped(lambda key: counterparts.get(key, ""))
    return table.with_column(f"{depth}", column).where(f"{depth}", {*column.values} - {""})


def _rows(query: ReportQuery, depth: int, counts: Counts) -> ReportRows:
    by_path = partial(_by_path, depth)
    rows = rows_by(by_path(counts.table), _PATH, query.bots)
    if counts.crossed is None:
        return rows
    others = summed(query.bots, counts.crossed, counts.crossed, by_path)
    return rows.with_currencies(others.by_key)


def _by_path(depth: int, table: Columns) -> Columns:
    names = [f"{number}" for number in range(depth + 1)]
    found = table.by(names)
    paths = zip(*(found.dimensions[name].in_rows() for name in names), strict=True)
    column = column_of(list(map(SEPARATOR.join, paths)))
    return Columns({_PATH: column}, found.measures, found.rows)
