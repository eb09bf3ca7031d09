"""Create and list accounts, and set their time zones and rules against forged conversions."""

import argparse
from decimal import Decimal, InvalidOperation
from typing import Final

import msgspec

from scripts.command import Command, OutputRow, add_account, currency, display_name
from tracker.access.audit import AuditObject, FieldChange, differences
from tracker.access.principal import Author
from tracker.accounts.accounts import Account
from tracker.accounts.time_zones import checked_zone
from tracker.clock import iso, now
from tracker.conversions.rules import checked_max_per_click, checked_max_value
from tracker.errors import BadRequest, NotFound
from tracker.service.services import Services

_NOT_GIVEN: Final = object()
"""The default of an option that was not given."""


def _boolean(text: str) -> bool:
    if text not in ("true", "false"):
        raise argparse.ArgumentTypeError("must be true or false")
    return text == "true"


def _max_value(text: str) -> Decimal | None:
    try:
        return None if text == "none" else checked_max_value(Decimal(text))
    except InvalidOperation:
        raise argparse.ArgumentTypeError("must be a number, or none") from None
    except BadRequest as error:
        raise argparse.ArgumentTypeError(error.message.removeprefix("max_value: ")) from None


def _max_per_click(text: str) -> int | None:
    try:
        return None if text == "none" else checked_max_per_click(int(text))
    except ValueError:
        raise argparse.ArgumentTypeError("must be a whole number, or none") from None
    except BadRequest as error:
        raise argparse.ArgumentTypeError(error.message.removeprefix("max_per_click: ")) from None


def _time_zone(text: str) -> str:
    try:
        return checked_zone(text)
    except BadRequest as error:
        raise argparse.ArgumentTypeError(error.message.removeprefix("time_zone: ")) from None


_METAVARS: Final = {
    _boolean: "true|false",
    _max_value: "NUMBER|none",
    _max_per_click: "NUMBER|none",
}
_RULES: Final = {
    "require_pbk": (_boolean, "reject conversions without a postback key"),
    "no_negative_values": (_boolean, "reject conversions with a value below 0"),
    "max_value": (_max_value, "highest value of a conversion; none: any"),
    "max_per_click": (
        _max_per_click,
        "how many conversions of one click and event configuration count; none: any number",
    ),
}
"""The type and the help text of the option that sets each rule."""


async def _create(services: Services, parsed: argparse.Namespace) -> list[OutputRow]:
    return [_row(await services.accounts.accounts.create(parsed.name))]


async def _list(services: Services, parsed: argparse.Namespace) -> list[OutputRow]:
    return [_row(account) for account in await services.accounts.accounts.list()]


async def _set(services: Services, parsed: argparse.Namespace) -> list[OutputRow]:
    account, changes = await _account(services, parsed), dict[str, FieldChange]()
    fields = {name: value for name in _RULES if (value := getattr(parsed, name)) is not _NOT_GIVEN}
    if fields:
        before = await services.conversions.account_rules.find(account.id)
        after = await services.conversions.account_rules.change(account.id, fields)
        changes |= differences(before, after)
    if parsed.currency is not None:
        settings = services.conversions.account_rules
        known = (await settings.stored(account.id)).currency
        await settings.set_currency(account.id, parsed.currency)
        if known != parsed.currency:
            changes["currency"] = FieldChange(before=known, after=parsed.currency)
    if parsed.time_zone is not None:
        zone, _ = await services.accounts.time_zones.request(account.id, parsed.time_zone)
        if zone != parsed.time_zone:
            changes["time_zone"] = FieldChange(before=zone, after=parsed.time_zone)
    if changes:
        target = AuditObject(kind="account", id=account.id, name=account.name)
        author = Author.operator(account.id)
        await services.access.audit.record(author, "account.changed", target, changes)
    return await _show(services, parsed)


async def _account(services: Services, parsed: argparse.Namespace) -> Account:
    """Return the account that the option names. Raises NotFound if there is none."""
    account = await services.accounts.accounts.find(parsed.account)
    if account is None:
        raise NotFound(f"account {parsed.account}: not found")
    return account


async def _show(services: Services, parsed: argparse.Namespace) -> list[OutputRow]:
    account = await _account(services, parsed)
    settings = await services.conversions.account_rules.stored(parsed.account)
    calendar, at = await services.accounts.time_zones.find(parsed.account), now()
    zones = {"time_zone": calendar.zone_at(at)}
    if change := calendar.change_after(at):
        zones["time_zone_change"] = f"{change.zone} from {change.first}"
    rules = msgspec.structs.asdict(settings.rules)
    return [_row(account) | zones | {"currency": settings.currency} | rules]


def _row(account: Account) -> OutputRow:
    return {"id": account.id, "name": account.name, "created_at": iso(account.created_at)}


def main() -> None:
    command = Command(
        "accounts",
        "Create and list accounts, and set their time zones and rules against forged conversions.",
        'python -m scripts.accounts create "Acme Media"',
    )
    create = command.action("create", "create an account", _create)
    create.add_argument("name", type=display_name, help="name for people")
    command.action("list", "list all accounts, oldest first", _list)
    about = "show an account, its time zone and its rules against forged conversions"
    add_account(command.action("show", about, _show))
    about = "set the time zone, and rules against forged conversions"
    change = command.action("set", about, _set)
    add_account(change)
    about = "zone of days and hours in reports, from the next day on"
    change.add_argument("--time-zone", type=_time_zone, metavar="NAME", help=about)
    about = "currency of its money, by ISO 4217; another one only before it has any"
    change.add_argument("--currency", type=currency, metavar="CODE", help=about)
    for name, (kind, about) in _RULES.items():
        option = "--" + name.replace("_", "-")
        change.add_argument(
            option, type=kind, default=_NOT_GIVEN, metavar=_METAVARS[kind], help=about
        )
    command.main()


if __name__ == "__main__":
    main()
