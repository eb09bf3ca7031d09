"""Make and list accounts."""

import argparse

from scripts.command import Command, Row, label
from tracker.access.accounts import Account
from tracker.clock import iso
from tracker.services import Services


async def _create(services: Services, parsed: argparse.Namespace) -> list[Row]:
    return [_row(await services.accounts.create(parsed.name))]


async def _list(services: Services, parsed: argparse.Namespace) -> list[Row]:
    return [_row(account) for account in await services.accounts.list()]


def _row(account: Account) -> Row:
    return {"id": account.id, "name": account.name, "created_at": iso(account.created_at)}


def main() -> None:
    command = Command(
        "accounts", "Make and list accounts.", 'python -m scripts.accounts create "Acme Media"'
    )
    create = command.action("create", "make an account", _create)
    create.add_argument("name", type=label, help="label for people")
    command.action("list", "list all accounts, oldest first", _list)
    command.main()


if __name__ == "__main__":
    main()
