"""Make and list event configurations."""

import argparse
from decimal import Decimal, InvalidOperation

from scripts.command import Command, Row, add_account, label, require_account
from tracker.clock import iso
from tracker.conversions.event_config import EventConfig, PayoutType
from tracker.services import Services

_DECIMALS = 6


async def _create(services: Services, parsed: argparse.Namespace) -> list[Row]:
    await require_account(services, parsed.account)
    config = await services.event_configs.create(
        parsed.account, parsed.name, PayoutType(parsed.payout_type), parsed.payout
    )
    return [_row(config)]


async def _list(services: Services, parsed: argparse.Namespace) -> list[Row]:
    await require_account(services, parsed.account)
    return [_row(config) for config in await services.event_configs.list(parsed.account)]


def _row(config: EventConfig) -> Row:
    return {
        "pbk": config.pbk,
        "id": config.id,
        "account_id": config.account_id,
        "name": config.name,
        "payout_type": config.payout_type,
        "payout": config.payout,
        "active": config.active,
        "created_at": iso(config.created_at),
    }


def _payout(text: str) -> Decimal:
    try:
        payout = Decimal(text)
    except InvalidOperation:
        payout = Decimal(-1)
    if not (payout.is_finite() and 0 <= payout <= 10**9):
        raise argparse.ArgumentTypeError("a number from 0 to 1000000000")
    if payout != round(payout, _DECIMALS):
        raise argparse.ArgumentTypeError(f"at most {_DECIMALS} decimals")
    return payout


def main() -> None:
    command = Command(
        "event_configs",
        "Make and list event configurations. Conversions name one by its postback key (pbk).",
        "python -m scripts.event_configs create --account 0190b5a2-7c1e-7d3f-8a4b-5c6d7e8f9a0b "
        "--name Purchase --payout-type RevShare --payout 10",
    )
    create = command.action("create", "make one and print its postback key", _create)
    add_account(create)
    create.add_argument("--name", type=label, required=True, help="label for people")
    create.add_argument(
        "--payout-type",
        required=True,
        choices=[str(kind) for kind in PayoutType],
        help="RevShare pays a percentage of the value, the others a fixed amount",
    )
    create.add_argument(
        "--payout", type=_payout, default=Decimal(0), help="the percentage or the amount"
    )
    add_account(command.action("list", "list an account's, newest first", _list))
    command.main()


if __name__ == "__main__":
    main()
