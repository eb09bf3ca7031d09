"""The scene of a month: every kind of report at three sizes."""

from typing import Final

from lab.bench_reports import table
from lab.bench_reports.kinds import kinds_of_month
from lab.bench_reports.measure import looks, raw
from lab.bench_reports.traffic import days_until_yesterday, fill, new_account
from tracker.ingest.drain import Drain
from tracker.service.services import Services

DAYS: Final = 30
RAW_CLICKS: Final = 100_000
"""Clicks from which aggregating them tells: it takes as much longer as there are more."""

UNPREPARED_CLICKS: Final = 1_000_000
UNPREPARED: Final = ("device in a country", "one link by referrer", "overview of a country")
"""Of more clicks than these only these kinds are timed with nothing prepared: they read them all,
and every kind takes about as long."""


async def measure(services: Services, drain: Drain, clicks: int, links: int, rounds: int) -> None:
    """Fill an account, and print the times of its reports."""
    sizes = sorted({max(1, clicks // 100), max(1, clicks // 10), clicks})
    raw_at = next((n for n, size in enumerate(sizes) if size >= RAW_CLICKS), len(sizes) - 1)
    account = await new_account(services, 0, links, days_until_yesterday(DAYS))
    kinds, done, found, from_clicks = kinds_of_month(account), 0, [], {}
    for number, size in enumerate(sizes):
        rate = await fill(drain, account, done, size)
        print(f"{size:,} clicks stored and counted, {rate:,.0f} a second", flush=True)
        unprepared = [
            kind
            for kind in kinds
            if kind.kept and (size <= UNPREPARED_CLICKS or kind.name in UNPREPARED)
        ]
        found.append(
            await looks(services, kinds, unprepared, rounds, f"reports of {size:,} clicks")
        )
        if number == raw_at:
            from_clicks = await raw(services, kinds)
        done = size
    heads = [f"{size:,}" for size in sizes]
    print("", *table.later_looks(heads, found, from_clicks, raw_at), sep="\n")
    print("", *table.first_looks(heads, found), sep="\n", flush=True)
