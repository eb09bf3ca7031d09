"""`python -m lab.bench`: the options, the progress and the table."""

import argparse
import random
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from config.settings import Settings
from lab.bench import wrk
from lab.bench.cost import Costs, cost_lines, measure_cost, measure_waiting
from lab.bench.figures import figures
from lab.bench.measure import Bench, Measured, Options
from lab.bench.rows import ROWS, Row, missing
from lab.bench.sustained import ATTEMPTS, Search
from lab.bench.table import table
from lab.bench.targets import targets
from lab.harness import Machine, add_rows, on_own_stores, option_parser
from lab.scene import prepare_load
from lab.stores import open_stores
from scripts.command import positive
from scripts.progress import ProgressLine

Rounds = defaultdict[str, list[Measured]]


class Results(NamedTuple):
    """Everything measured: `costs` only if asked for."""

    rows: list[Row]
    full: Rounds
    sustained: dict[str, Measured]
    half: Rounds
    costs: Costs | None


async def _run(
    stores: Settings, folder: Path, parsed: argparse.Namespace, line: ProgressLine
) -> Results:
    line.show("preparing")
    options = Options(parsed.seconds, parsed.client == "wrk")
    rows = [row for row in parsed.rows if not missing(row)]
    scenes = {of: await prepare_load(stores, *of) for of in {row.scene for row in rows}}
    results = Results(rows, defaultdict(list), {}, defaultdict(list), None)
    async with open_stores(stores) as connected:
        bench = Bench(folder, stores, connected, scenes, options)
        for number in range(1, parsed.rounds + 1):
            # A machine that slows down during a round slows no row more often than another.
            for row in random.sample(rows, len(rows)):
                line.show(f"round {number} of {parsed.rounds}: {row.key} {row.name}")
                results.full[row.key].append(await bench.measure(row))
        for row in rows:
            if row.sustained:
                await _search(bench, row, results, parsed, line)
        if parsed.cost and rows:
            line.show(f"costs at {parsed.cost:,} clicks a second")
            costed = [row for row in rows if row.stored == "clicks"]
            costs = [await measure_cost(bench, connected, row, parsed.cost) for row in costed]
            waiting = await measure_waiting(folder, stores, connected, scenes[rows[0].scene])
            results = results._replace(costs=Costs(costs, waiting))
    return results


async def _search(
    bench: Bench, row: Row, results: Results, parsed: argparse.Namespace, line: ProgressLine
) -> None:
    search = Search(median(one.landed_rate for one in results.full[row.key]))
    for number in range(1, ATTEMPTS + 1):
        line.show(f"{row.key} sustained, attempt {number} of {ATTEMPTS}: {search.rate:,.0f}/s")
        measured = await bench.measure(row, search.rate, parsed.sustained_seconds)
        search.add(measured)
    if search.best is None:
        return
    results.sustained[row.key] = search.best
    for number in range(1, parsed.rounds + 1):
        line.show(f"{row.key} at half of what it sustains: {number} of {parsed.rounds}")
        results.half[row.key].append(await bench.measure(row, search.best.outcome.rate / 2))


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit code: 0 if everything was measured, whether or not targets are reached."""
    parsed = _parser().parse_args(arguments)
    line, machine = ProgressLine(), Machine()
    try:
        results = on_own_stores("bench", lambda folder, stores: _run(stores, folder, parsed, line))
    finally:
        line.end()
    _report(parsed, results, machine)
    return 0


def _report(parsed: argparse.Namespace, results: Results, machine: Machine) -> None:
    found = figures(results.rows, results.full, results.sustained, results.half)
    print(f"{parsed.rounds} rounds of {parsed.seconds} s, load by {parsed.client}, {machine}")
    for row in parsed.rows:
        if lacking := missing(row):
            print(f"{row.key} was left out: {lacking}")
        elif row.sustained and row.key not in results.sustained:
            print(f"{row.key} sustained none of the rates that were tried")
    print(table(found, targets(found)))
    if results.costs is not None:
        print("", *cost_lines(results.costs), sep="\n")


def _parser() -> argparse.ArgumentParser:
    names = "\n".join(f"  {row.key:4}{row.name}" for row in ROWS)
    parser = option_parser(
        "bench",
        "Measure redirects, clicks, conversions and a list side by side on stores of its own.",
        f"rows:\n{names}\n\nexample:\n  make bench ARGS='--rounds 5 --rows a,c,d'",
    )
    parser.add_argument("--rounds", type=positive, default=5, help="rounds of each row [5]")
    parser.add_argument("--seconds", type=positive, default=10, help="seconds of each load [10]")
    parser.add_argument(
        "--sustained-seconds",
        type=positive,
        default=60,
        metavar="SECONDS",
        help=f"seconds of each of the {ATTEMPTS} loads that look for what a row sustains [60]",
    )
    add_rows(parser, ROWS, lambda row: {row.key, row.key[0]})
    parser.add_argument(
        "--cost",
        type=positive,
        nargs="?",
        const=5000,
        metavar="RATE",
        help="measure too what a click of the rows costs each part, in processor time and bytes, "
        "at RATE clicks a second [5000]",
    )
    parser.add_argument(
        "--client",
        choices=("wrk", "own"),
        default="wrk" if wrk.is_installed() else "own",
        help="load generator [wrk where it is installed]",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
