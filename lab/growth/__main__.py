"""`python -m lab.growth`: the options, the directions and the table."""

import argparse
import sys
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
from pymongo.errors import PyMongoError
from redis.exceptions import RedisError

from config.settings import Settings
from lab.growth import accounts, links, lists, months, receivers, reports
from lab.growth.figures import Samples, broken, figures, table
from lab.growth.filling import Filling
from lab.growth.rows import ROWS, Direction
from lab.growth.run import Run, Sizes
from lab.harness import CannotMeasure, Machine, add_rows, on_own_stores, option_parser
from lab.result import exit_code
from scripts.command import positive
from scripts.progress import ProgressLine
from tracker.errors import TrackerError
from tracker.service.roles import SWITCH_INTERVAL_SECONDS

LINKS: Final = 100_000
MANY_LINKS: Final = 1_000_000
ACCOUNTS: Final = 1_000
MANY_ACCOUNTS: Final = 100_000

_NOT_MEASURED: Final = (CannotMeasure, PyMongoError, RedisError, TrackerError)
"""Errors of one direction, such as a store without an answer. The others are measured."""

_DIRECTIONS: Final[Mapping[Direction, Callable[[Run, Collection[str]], Awaitable[None]]]] = {
    "links": links.measure,
    "lists": lists.measure,
    "reports": reports.measure,  # after the links, which are measured without earlier clicks
    "months": months.measure,
    "accounts": accounts.measure,
    "receivers": receivers.measure,
}


async def _run(folder: Path, stores: Settings, parsed: argparse.Namespace) -> Samples:
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)  # as the service does
    samples, line, filled = Samples(), ProgressLine(), "growth"
    settings = msgspec.structs.replace(stores, mongodb_database=filled)
    run = Run(folder, stores, Filling(settings), _sizes(parsed), samples, line)
    for direction, measure in _DIRECTIONS.items():
        wanted = {row.key for row in parsed.rows if row.direction == direction}
        if not wanted:
            continue
        try:
            await measure(run, wanted)
        except _NOT_MEASURED as error:
            print(f"{direction}: {type(error).__name__}: {error}", file=sys.stderr)
        finally:
            line.end()
    return samples


def main(arguments: Sequence[str] | None = None) -> int:
    parsed = _parser().parse_args(arguments)
    machine = Machine()
    samples = on_own_stores("growth", lambda folder, stores: _run(folder, stores, parsed))
    found, sizes = figures(parsed.rows, samples), _sizes(parsed)
    print(
        f"up to {sizes.links:,} links, {sizes.accounts:,} accounts, {sizes.webhooks:,} webhooks, "
        f"{sizes.clicks:,} clicks; medians of {sizes.rounds}, {machine}"
    )
    print(table(found))
    return exit_code(broken(found))


def _sizes(parsed: argparse.Namespace) -> Sizes:
    return Sizes(
        links=parsed.links or (MANY_LINKS if parsed.million else LINKS),
        accounts=parsed.accounts or (MANY_ACCOUNTS if parsed.million else ACCOUNTS),
        webhooks=parsed.webhooks,
        clicks=parsed.clicks,
        rounds=parsed.rounds,
    )


def _parser() -> argparse.ArgumentParser:
    names = "\n".join(f"  {row.direction:10}{row.key:14}{row.name}" for row in ROWS)
    parser = option_parser(
        "growth",
        "Measure how cost grows with the numbers of links, accounts, webhooks and clicks, on "
        "stores of its own that the product fills. Exit code 1 if a bound does not hold.",
        f"rows, by direction:\n{names}\n\nexample:\n  make growth ARGS='--rows lists,p99'",
    )
    parser.add_argument(
        "--million",
        action="store_true",
        help=f"{MANY_LINKS:,} links and {MANY_ACCOUNTS:,} accounts instead of {LINKS:,} and "
        f"{ACCOUNTS:,}",
    )
    parser.add_argument("--links", type=positive, help="links of the larger account")
    parser.add_argument("--accounts", type=positive, help="accounts, where they are many")
    parser.add_argument(
        "--webhooks", type=positive, default=10_000, help="webhooks, where they are many [10000]"
    )
    parser.add_argument(
        "--clicks", type=positive, default=1_000_000, help="clicks of a month [1000000]"
    )
    parser.add_argument("--rounds", type=positive, default=3, help="measurements of each row [3]")
    add_rows(parser, ROWS, lambda row: {row.direction, row.key})
    return parser


if __name__ == "__main__":
    sys.exit(main())
