"""Recount rollups from stored clicks and events, and correct them."""

import argparse
from collections import Counter
from uuid import UUID

from scripts.command import Command, OutputRow, add_days, require_account, uuid
from scripts.progress import Progress
from tracker.calendar import Calendar
from tracker.errors import TrackerError
from tracker.reports.repair.joint_check import JointCheck
from tracker.reports.repair.recount import Recount, first_whole_day
from tracker.service.services import Services
from tracker.stores.mongodb import indexes
from tracker.stores.mongodb.retention import first_complete_day


async def _rebuild(services: Services, parsed: argparse.Namespace) -> list[OutputRow]:
    await _check(services, parsed)
    await indexes.ensure(services.stores.mongodb.database)
    if parsed.account is not None:
        await require_account(services, parsed.account)
    recount = Recount(services.stores.mongodb)
    accounts = [parsed.account] if parsed.account else await recount.accounts()
    work = [one for account in accounts for one in await _days(services, recount, account, parsed)]
    corrected: Counter[UUID] = Counter()
    with Progress("days of accounts", len(work)) as progress:
        for account, one, calendar in work:
            corrected[account] += await recount.correct(account, one, calendar)
            async with services.stores.mongodb.reads.at_one_snapshot() as snapshot:
                check = JointCheck(services.stores.mongodb.database, account, calendar)
                corrected[account] += await check.remove_wrong(one, snapshot)
            progress.advance()
    days = Counter(account for account, _, _ in work)
    return [
        {
            "account_id": str(account),
            "days": days[account],
            "figures_corrected": corrected[account],
        }
        for account in corrected
    ]


async def _days(
    services: Services, recount: Recount, account: UUID, parsed: argparse.Namespace
) -> list[tuple[UUID, str, Calendar]]:
    """Return the days of an account, in its calendar."""
    oldest = await first_complete_day(services.stores.mongodb.database)
    calendar = await services.accounts.time_zones.find(account)
    first = max(parsed.first, first_whole_day(calendar, oldest))
    days = await recount.days(account, first, parsed.last, calendar)
    return [(account, one, calendar) for one in days]


async def _check(services: Services, parsed: argparse.Namespace) -> None:
    """Raises TrackerError if clicks of the chosen days may be deleted."""
    oldest = await first_complete_day(services.stores.mongodb.database)
    if parsed.first < oldest:
        raise TrackerError(
            f"--from: clicks before {oldest} may be deleted already (CLICK_RETENTION_DAYS) and "
            "cannot be counted again"
        )


def main() -> None:
    command = Command(
        "rebuild_rollups",
        "Recount the rollups of these days from the stored clicks and events, while the service "
        "runs. Missing indexes are created first. Wrong figures are corrected, one day at a time.",
        "python -m scripts.rebuild_rollups --from 2026-01-01 --to 2026-01-31",
    )
    parser = command.only_action(_rebuild)
    parser.add_argument("--account", type=uuid, metavar="ID", help="only this account")
    add_days(parser, required=True)
    command.main()


if __name__ == "__main__":
    main()
