"""`python -m lab.bench_reports`: the options, and the scenes that they ask for."""

import argparse
import os
import sys
from typing import Final

from config.settings import Settings
from lab.bench_reports import month, strangers, year
from lab.harness import on_own_stores, option_parser
from lab.scene import open_services
from scripts.command import positive
from tracker.ingest.drain_number import DrainNumber
from tracker.service.background import leased
from tracker.service.roles import SWITCH_INTERVAL_SECONDS

_LINKS: Final = 200
_LINKS_OF_YEAR: Final = 20_000


async def measure(settings: Settings, parsed: argparse.Namespace) -> None:
    """Fill the accounts of each scene, and print its tables."""
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)  # as the service does
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
    links = parsed.links or (_LINKS_OF_YEAR if parsed.year else _LINKS)
    async with open_services(settings) as services:
        stores = services.stores
        try:
            async with leased(
                DrainNumber(stores.redis, stores.mongodb), services.loops
            ) as drain_number:
                drain = services.ingest.drain(drain_number)
                if parsed.year:
                    await year.measure(services, drain, parsed.clicks, links, parsed.rounds)
                    return
                await month.measure(services, drain, parsed.clicks, links, parsed.rounds)
                count = min(parsed.clicks, strangers.CLICKS)
                await strangers.measure(services, drain, count, links, parsed.rounds)
        finally:
            await services.stop()
            print(f"\nload average {os.getloadavg()[0]:.1f}", flush=True)


def parser() -> argparse.ArgumentParser:
    made = option_parser(
        "bench_reports",
        "Time every kind of report over 30 days, at 1 %, 10 % and 100 % of the clicks: first looks "
        "with nothing prepared, first looks at days that drains have counted, and later looks; "
        "then a day of 100,000 different campaigns beside one of a single campaign.",
        "examples:\n  make bench-reports ARGS='--clicks 10000000'\n"
        "  make bench-reports ARGS=--year",
    )
    made.add_argument("--clicks", type=positive, default=10_000_000, help="most clicks [10000000]")
    made.add_argument("--links", type=positive, help="links of the account [200; 20000 of a year]")
    made.add_argument("--rounds", type=positive, default=15, help="later looks at each [15]")
    made.add_argument(
        "--year",
        action="store_true",
        help="instead: many links over 365 days, and an account over 731",
    )
    return made


def main() -> None:
    """Run and print the tables. Raises SystemExit if nothing can be measured."""
    parsed = parser().parse_args()
    on_own_stores("bench-reports", lambda folder, stores: measure(stores, parsed))


if __name__ == "__main__":
    main()
