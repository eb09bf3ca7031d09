"""Create and list event configurations."""

import argparse
from collections.abc import Callable
from decimal import Decimal, InvalidOperation

from scripts.command import Command, OutputRow, add_account, currency, display_name, require_account
from tracker.access.audit import AuditObject
from tracker.access.principal import Author
from tracker.clock import iso
from tracker.conversions.corrections.status import OnRepeat, Status
from tracker.conversions.event_config import (
    MAX_MIN_SECONDS,
    MAX_WINDOW_DAYS,
    EventConfig,
    PayoutType,
    checked_payout,
)
from tracker.conversions.postbacks.aliases import AliasedParameter, check_aliases
from tracker.conversions.postbacks.words import Meaning, Meanings, checked_statuses
from tracker.errors import BadRequest
from tracker.service.services import Services

_TYPES = ", ".join(PayoutType)
"""The payout types, for help and errors; arguments may be in any case."""

_REPORTS = ("statuses", "unknown_status", "on_repeat", "window_days", "min_seconds", "currency")
"""The options that say how reports are read."""


async def _create(services: Services, parsed: argparse.Namespace) -> list[OutputRow]:
    await require_account(services, parsed.account)
    account = await services.conversions.account_rules.stored(parsed.account)
    if parsed.currency is not None and account.currency is None:
        raise BadRequest("currency: the account has none yet; set that first")
    named = {name: value for name in _REPORTS if (value := getattr(parsed, name)) is not None}
    config = await services.conversions.event_configs.create(
        parsed.account,
        parsed.name,
        parsed.payout_type,
        parsed.payout,
        parsed.parameter_aliases,
        **named,
    )
    target = AuditObject(kind="event_config", id=config.id, name=config.name)
    author = Author.operator(config.account_id)
    await services.access.audit.record(author, "event_config.created", target)
    return [_row(config)]


async def _list(services: Services, parsed: argparse.Namespace) -> list[OutputRow]:
    await require_account(services, parsed.account)
    return [
        _row(config) for config in await services.conversions.event_configs.list(parsed.account)
    ]


def _row(config: EventConfig) -> OutputRow:
    return {
        "pbk": config.pbk,
        "id": config.id,
        "account_id": config.account_id,
        "name": config.name,
        "payout_type": config.payout_type,
        "payout": config.payout,
        "active": config.active,
        "parameter_aliases": ",".join(f"{a}={b}" for a, b in config.parameter_aliases.items()),
        "statuses": ",".join(f"{a}={b}" for a, b in config.statuses.items()),
        **{name: getattr(config, name) for name in _REPORTS[1:]},
        "created_at": iso(config.created_at),
    }


def _payout_type(text: str) -> PayoutType:
    try:
        return PayoutType(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be {_TYPES}") from None


def _payout(text: str) -> Decimal:
    try:
        return checked_payout(Decimal(text))
    except InvalidOperation:
        raise argparse.ArgumentTypeError("must be a number") from None
    except BadRequest as error:
        raise argparse.ArgumentTypeError(error.message.removeprefix("payout: ")) from None


def _aliases(text: str) -> dict[str, AliasedParameter]:
    pairs = [one.split("=", 1) for one in text.split(",")]
    try:
        aliases = {name: AliasedParameter(parameter) for name, parameter in pairs}
        check_aliases(aliases)
    except BadRequest as error:
        raise argparse.ArgumentTypeError(error.message.partition(": ")[2]) from None
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"must be such as cid=click_id; parameters are {', '.join(AliasedParameter)}"
        ) from None
    if len(aliases) < len(pairs):
        raise argparse.ArgumentTypeError("a name is given twice")
    return aliases


def _statuses(text: str) -> Meanings:
    try:
        pairs = [one.rsplit("=", 1) for one in text.split(",")]
        return checked_statuses({word: Meaning(meaning) for word, meaning in pairs})
    except BadRequest as error:
        raise argparse.ArgumentTypeError(error.message.partition(": ")[2]) from None
    except ValueError:
        meanings = ", ".join(Meaning)
        raise argparse.ArgumentTypeError(f"must be such as trash=rejected: {meanings}") from None


def _whole(most: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not (text.isascii() and text.isdigit() and 1 <= int(text) <= most):
            raise argparse.ArgumentTypeError(f"must be a whole number from 1 to {most}")
        return int(text)

    return number


def _add_reports(create: argparse.ArgumentParser) -> None:
    for name, read, metavar, meaning in (
        ("statuses", _statuses, "WORD=STATUS,...", "the network's words of a status"),
        ("unknown_status", Status, "STATUS", "status of words without a meaning [pending]"),
        ("on_repeat", OnRepeat, "WHAT", "first, update or count [by whether there is a status]"),
        ("window_days", _whole(MAX_WINDOW_DAYS), "N", "longest time after the click [any]"),
        ("min_seconds", _whole(MAX_MIN_SECONDS), "N", "shortest time after the click [any]"),
        ("currency", currency, "CODE", "currency of conversions that bring none [the account's]"),
    ):
        option = f"--{name.replace('_', '-')}"
        create.add_argument(option, type=read, metavar=metavar, help=meaning)


def main() -> None:
    command = Command(
        "event_configs",
        "Create and list event configurations. Conversions name it by its postback key (pbk).",
        "python -m scripts.event_configs create --account 0190b5a2-7c1e-7d3f-8a4b-5c6d7e8f9a0b "
        "--name Purchase --payout-type RevShare --payout 10",
    )
    create = command.action("create", "create a configuration and print its postback key", _create)
    add_account(create)
    create.add_argument("--name", type=display_name, required=True, help="name for people")
    create.add_argument(
        "--payout-type",
        required=True,
        type=_payout_type,
        metavar="TYPE",
        help=f"{_TYPES}: RevShare pays a percentage of the value, the others a fixed amount",
    )
    create.add_argument(
        "--payout", type=_payout, default=Decimal(0), help="percentage or amount [0]"
    )
    create.add_argument(
        "--parameter-aliases",
        type=_aliases,
        metavar="NAME=PARAMETER,...",
        help="names that senders use for click_id, value, transaction_id, status and others",
    )
    _add_reports(create)
    add_account(command.action("list", "list an account's configurations, newest first", _list))
    command.main()


if __name__ == "__main__":
    main()
