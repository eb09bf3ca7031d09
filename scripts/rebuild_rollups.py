"""Recount rollups from stored clicks and events, and correct them."""

import argparse

from scripts.command import Command, Row, day, require_account, uuid
from scripts.progress import Progress
from tracker.db import indexes
from tracker.db.retention import first_kept
from tracker.errors import TrackerError
from tracker.reports.recount import Recount
from tracker.service.services import Services


async def _rebuild(services: Services, parsed: argparse.Namespace) -> list[Row]:
    await _check(services, parsed)
    await indexes.ensure(services.database)
    if parsed.account is not None:
        await require_account(services, parsed.account)
    recount = Recount(services.mongodb, services.database)
    accounts = [parsed.account] if parsed.account else await recount.accounts()
    work = [
        (account, one)
        for account in accounts
        for one in await recount.days(account, parsed.first, parsed.last)
    ]
    corrected: dict[str, int] = {}
    with Progress("days of accounts", len(work)) as progress:
        for account, one in work:
            corrected[str(account)] = corrected.get(str(account), 0) + await recount.correct(
                account, one
            )
            progress.advance()
    days = [str(account) for account, _ in work]
    return [
        {"account_id": account, "days": days.count(account), "figures_corrected": number}
        for account, number in corrected.items()
    ]


async def _check(services: Services, parsed: argparse.Namespace) -> None:
    """Check the chosen days.

    Raises TrackerError if their order is reversed, or if clicks of these days may be deleted.
    """
    if parsed.first > parsed.last:
        raise TrackerError("--from: must not be after --to")
    kept = await first_kept(services.database)
    if parsed.first < kept:
        raise TrackerError(
            f"--from: clicks before {kept} may be deleted already (CLICK_RETENTION_DAYS) and "
            "cannot be counted again"
        )


def main() -> None:
    """Run the command."""
    command = Command(
        "rebuild_rollups",
        "Recount the rollups of these days from the stored clicks and events, while the service "
        "runs. Missing indexes are made first. Wrong figures are corrected, one day at a time; "
        "right ones stay.",
        "python -m scripts.rebuild_rollups --from 2026-01-01 --to 2026-01-31",
    )
    parser = command.always(_rebuild)
    parser.add_argument("--account", type=uuid, metavar="ID", help="only this account")
    for name, dest, about in (
        ("--from", "first", "first day, UTC"),
        ("--to", "last", "last day, UTC"),
    ):
        parser.add_argument(name, dest=dest, type=day, required=True, metavar="DAY", help=about)
    command.main()


if __name__ == "__main__":
    main()
