"""Recount an account's links by state and tag, and correct the kept counts."""

import argparse
from collections.abc import Sequence

from scripts.command import Command, OutputRow, require_account, uuid
from scripts.progress import Progress
from tracker.links.lists.recount import LinkRecount
from tracker.service.services import Services
from tracker.stores.mongodb import indexes


async def _recount(services: Services, parsed: argparse.Namespace) -> Sequence[OutputRow]:
    await indexes.ensure(services.stores.mongodb.database)
    if parsed.account is not None:
        await require_account(services, parsed.account)
    recount = LinkRecount(services.stores.mongodb)
    accounts = [parsed.account] if parsed.account else await recount.accounts()
    rows = []
    with Progress("accounts", len(accounts)) as progress:
        for account in accounts:
            rows.append({"account_id": account, "counts_corrected": await recount.correct(account)})
            progress.advance()
    return rows


def main() -> None:
    command = Command(
        "link_counts",
        "Recount links by state and tag, while the service runs, and correct the counts that lists "
        "show. Drains do so after an upgrade.",
        "python -m scripts.link_counts",
    )
    parser = command.only_action(_recount)
    parser.add_argument("--account", type=uuid, metavar="ID", help="only this account")
    command.main()


if __name__ == "__main__":
    main()
