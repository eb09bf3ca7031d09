"""Cross tables: every level is counted exactly, and a row is the totals of those below it."""

from collections.abc import Mapping
from decimal import Decimal
from random import Random
from typing import Any, Final

from msgspec.structs import replace

from tests.reports.answers.drawn import GROUPS, HOST, check, drawn
from tests.reports.answers.entered import enter
from tests.reports.counted import Counted
from tests.reports.history import History, made
from tracker.reports.answers.compared import read_detailed
from tracker.reports.answers.levels import read_cross_table
from tracker.reports.answers.rows import SEPARATOR
from tracker.reports.answers.selection import narrowed
from tracker.reports.comparison import DayComparison
from tracker.reports.periods import DayRange
from tracker.reports.query import Bound, Measures, Report, ReportQuery
from tracker.service.services import Services

MANY_TAGS = ("tag",)
"""Dimensions of which a click may have several values: rows add up to more than their parent."""

OF_EVENTS = ("event", "currency")


def drawn_levels(random: Random, history: History, first: str) -> ReportQuery:
    others = random.sample([one for one in GROUPS if one != first], random.choice([1, 2]))
    levels = random.sample([first, *others], 1 + len(others))
    query = replace(drawn(random, history, levels[0]), page=1, page_size=1000)
    return replace(query, levels=levels)


def below(counted: Counted, random: Random, query: ReportQuery) -> list[ReportQuery]:
    """Return the queries of a way down the levels."""
    found = [query]
    for _ in query.levels[1:]:
        rows = counted.rows(found[-1])
        if not rows:
            break
        parents = [*found[-1].parents, random.choice(rows)[0]]
        group_by = query.levels[len(parents)]
        found.append(replace(query, parents=parents, group_by=group_by))
    return found


async def read(services: Services, query: ReportQuery) -> Report:
    return await services.reports.reports.run(query)


async def test_every_level_equals_a_count_one_by_one(services: Services) -> None:
    random = Random(52)
    history = await made(services, random)
    counted = Counted(history, HOST)
    async with services.reports.reports.begin(history.account_id) as run:
        scope = run.scope
    for first in GROUPS:
        for query in below(counted, random, drawn_levels(random, history, first)):
            await check(services, counted, query)
            # Endpoints read less of an account without costs of periods.
            report = await read(services, narrowed(scope, query))
            assert [(row.key, row.measures) for row in report.rows] == counted.rows(query), query
            assert report.totals == counted.totals(query), query


NO_CONDITIONS: Final[Mapping[str, Any]] = {
    name: {} for name in ("excluded", "containing", "not_containing")
}


async def test_a_row_is_exactly_the_totals_of_those_below_it_costs_too(services: Services) -> None:
    random = Random(53)
    history = await made(services, random)
    await enter(services, history, random, 60)
    counted, with_costs = Counted(history, HOST), 0
    for first in GROUPS:
        # Conditions on top of the filters would leave too few rows with costs.
        query = replace(drawn_levels(random, history, first), tests="exclude", **NO_CONDITIONS)
        above: Measures | None = None
        way = below(counted, random, query)
        for number, at in enumerate(way):
            report = await read(services, at)
            if above is not None:
                assert report.totals == above, at
            costs = [row.measures.cost for row in report.rows]
            if at.group_by not in (*MANY_TAGS, *OF_EVENTS) and at.parents:
                known = [one for one in costs if one is not None]
                assert sum(known, Decimal(0)) == (report.totals.cost or 0), at
                with_costs += bool(known)
            if number + 1 < len(way):
                key = way[number + 1].parents[-1]
                [above] = [row.measures for row in report.rows if row.key == key]
    assert with_costs > 10


async def test_rows_below_are_compared_with_those_of_their_counterpart(
    services: Services,
) -> None:
    random = Random(54)
    history = await made(services, random)
    counted, compared = Counted(history, HOST), 0
    for first in ("day", "hour", "country", "tag", "link") * 3:
        query = replace(drawn_levels(random, history, first), tests="exclude", filters={})
        other = drawn(random, history, query.group_by)
        days = DayRange(other.first, other.last)
        comparison = DayComparison(DayRange(query.first, query.last), days)
        way = below(counted, random, query)
        above: Measures | None = None
        for number, at in enumerate(way):
            async with services.reports.reports.begin(history.account_id) as run:
                found = await read_detailed(run, at, None, comparison)
            assert found.report.totals == counted.totals(at), at
            assert found.previous is not None
            assert found.previous_rows is not None
            if above is not None:
                assert found.previous.totals == above, (at, days)
            if number + 1 < len(way):
                above = found.previous_rows[way[number + 1].parents[-1]]
                compared += above.clicks > 0
    assert compared > 5


async def test_a_file_has_the_rows_of_all_levels_each_above_its_own(services: Services) -> None:
    random = Random(55)
    history = await made(services, random)
    for number, first in enumerate(GROUPS):
        if number == len(GROUPS) // 2:
            await enter(services, history, random, 60)
        query = replace(drawn_levels(random, history, first), tests="exclude")
        other = drawn(random, history, query.group_by)
        days = DayRange(other.first, other.last)
        comparison = random.choice([None, DayComparison(DayRange(query.first, query.last), days)])
        if comparison is None and random.random() < 0.5:
            query = replace(query, having=[Bound("clicks", least=Decimal(3))])
        async with services.reports.reports.begin(history.account_id) as run:
            table = await read_cross_table(run, query, comparison)
        found, before = table.piece(0, len(table.paths))
        below: dict[str, list[tuple[str, Measures, Measures | None]]] = {}
        for row in found:
            parent, _, key = row.key.rpartition(SEPARATOR)
            previous = None if before is None else before[row.key]
            below.setdefault(parent, []).append((key, row.measures, previous))
        parents = ["", *(row.key for row in found)]
        assert list(below) == [one for one in parents if one in below]
        for parent in random.sample(parents, min(4, len(parents))):
            keys = parent.split(SEPARATOR) if parent else []
            if len(keys) == len(query.levels):
                continue
            at = replace(query, parents=keys, group_by=query.levels[len(keys)])
            async with services.reports.reports.begin(history.account_id) as run:
                page = await read_detailed(run, at, None, comparison)
            expected = [
                (
                    row.key,
                    row.measures,
                    None if page.previous_rows is None else page.previous_rows[row.key],
                )
                for row in page.report.rows
            ]
            assert below.get(parent, []) == expected, (at, comparison)
