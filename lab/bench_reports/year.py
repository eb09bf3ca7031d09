"""The scene of a year: many links over a year, and an account over two."""

from collections.abc import Sequence
from typing import Final

from lab.bench_reports import table
from lab.bench_reports.kinds import Kind, kinds_of_account, kinds_of_links
from lab.bench_reports.measure import looks
from lab.bench_reports.traffic import Account, days_until_yesterday, fill, new_account
from tracker.ingest.drain import Drain
from tracker.service.services import Services

DAYS: Final = 365
DAYS_OF_ACCOUNT: Final = 731
LINKS_OF_ACCOUNT: Final = 20
_LINKS_TARGET: Final = 500
_ACCOUNT_TARGET: Final = 20


async def measure(services: Services, drain: Drain, clicks: int, links: int, rounds: int) -> None:
    """Fill both accounts, and print the times of their reports beside their targets."""
    account = await new_account(
        services, 1, LINKS_OF_ACCOUNT, days_until_yesterday(DAYS_OF_ACCOUNT)
    )
    await _measure(
        services, drain, account, max(1, clicks // 10), kinds_of_account(account), rounds
    )
    print(f"target of later looks: {_ACCOUNT_TARGET} ms", flush=True)
    account = await new_account(services, 2, links, days_until_yesterday(DAYS))
    await _measure(services, drain, account, clicks, kinds_of_links(account), rounds)
    print(f"target of later looks: {_LINKS_TARGET} ms", flush=True)


async def _measure(
    services: Services,
    drain: Drain,
    account: Account,
    clicks: int,
    kinds: Sequence[Kind],
    rounds: int,
) -> None:
    rate = await fill(drain, account, 0, clicks)
    size = f"{len(account.links):,} links, {account.days.days} days"
    print(f"\n{size}: {clicks:,} clicks stored and counted, {rate:,.0f} a second", flush=True)
    times = await looks(services, kinds, kinds, rounds, f"reports of {size}")
    print("", *table.first_and_later_looks(times), sep="\n")
