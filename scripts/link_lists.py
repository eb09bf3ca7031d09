"""Correct the counts and words of links, which lists and searches use."""

import argparse
from collections.abc import Sequence

from scripts.command import Command, OutputRow, require_account, uuid
from scripts.progress import Progress
from tracker.links.lists.backfill import LinkListBackfill
from tracker.service.services import Services
from tracker.stores.mongodb import indexes


async def _correct(services: Services, parsed: argparse.Namespace) -> Sequence[OutputRow]:
    await indexes.ensure(services.stores.mongodb.database)
    if parsed.account is not None:
        await require_account(services, parsed.account)
    lists = LinkListBackfill(services.stores.mongodb)
    accounts = [parsed.account] if parsed.account else await lists.counts.accounts()
    rows = []
    with Progress("accounts", len(accounts)) as progress:
        for account in accounts:
            rows.append({"account_id": account, "corrected": await lists.complete(account)})
            progress.advance()
    return rows


def main() -> None:
    command = Command(
        "link_lists",
        "Correct the counts by state and tag that lists of links show, and the words by which "
        "links are found, while the service runs. Drains do so after an upgrade.",
        "python -m scripts.link_lists",
    )
    parser = command.only_action(_correct)
    parser.add_argument("--account", type=uuid, metavar="ID", help="only this account")
    command.main()


if __name__ == "__main__":
    main()
