"""The scene of strangers: a day of as many campaigns as clicks, beside a day of one campaign."""

import random
import time
from statistics import median
from typing import Final

from lab.bench_reports import table
from lab.bench_reports.kinds import kinds_of_strangers
from lab.bench_reports.measure import looks
from lab.bench_reports.traffic import CampaignOf, apply, days_until_yesterday, new_account, traffic
from scripts.progress import Progress
from tracker.ingest.drain import Drain
from tracker.service.services import Services

CLICKS: Final = 100_000
_BATCH: Final = 4_000
_NUMBER: Final = 10
"""Of the first of the two accounts, apart from other scenes."""


def _one(chance: random.Random, number: int) -> str:
    return "campaign-7"


def _different(chance: random.Random, number: int) -> str:
    return f"campaign-{number}"


_CAMPAIGNS: Final[tuple[CampaignOf, ...]] = (_one, _different)


async def measure(services: Services, drain: Drain, clicks: int, links: int, rounds: int) -> None:
    """Fill both accounts, in turns, and print the times of their reports side by side."""
    day = days_until_yesterday(1)
    accounts = [await new_account(services, _NUMBER + one, links, day) for one in (0, 1)]
    seconds: tuple[list[float], ...] = [], []
    with Progress("filling a day", 2 * clicks) as progress:
        for first in range(0, clicks, _BATCH):
            numbers = range(first, min(first + _BATCH, clicks))
            for account, campaign_of, own in zip(accounts, _CAMPAIGNS, seconds, strict=True):
                records = list(traffic(account, numbers, range(clicks), campaign_of))
                began = time.perf_counter()
                await apply(drain, records)
                own.append(time.perf_counter() - began)
                progress.advance(len(numbers))
    one, many = map(median, seconds)
    print(f"\na day of {clicks:,} clicks: with as many campaigns the drain takes", end=" ")
    print(f"{many / one:.3f} times as long as with one (median of {len(seconds[0])} batches)")
    found = []
    for account in accounts:
        kinds = kinds_of_strangers(account)
        kept = [kind for kind in kinds if kind.kept]
        found.append(await looks(services, kinds, kept, rounds, "reports of a day"))
    heads = ["1 campaign", f"{clicks:,}"]
    print("", *table.later_looks(heads, found, {}, 0), sep="\n")
    print("", *table.first_looks(heads, found), sep="\n", flush=True)
