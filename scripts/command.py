"""The base of every command: its arguments, services, output and exit codes.

Exit codes: 0 done, 1 failed (the reason is on standard error), 2 wrong usage.
"""

import argparse
import asyncio
import os
import re
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from uuid import UUID

import msgspec
import orjson

from config import logging
from config.settings import Settings, SettingsError, read
from tracker.clock import day_of, start_of
from tracker.errors import BadRequest, TrackerError
from tracker.ids import parse_id
from tracker.service.services import Services
from tracker.stores.builtin.stores import StoresError, attach_stores
from tracker.stores.startup.checks import mongodb_diagnosed, redis_diagnosed
from tracker.stores.startup.diagnosis import StoreUnavailable, UnusableStore
from tracker.syntax.currency import checked_currency

_MAX_NAME_CHARACTERS = 255
# Control characters, and bytes from the shell that are not text.
_UNUSABLE_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")

OutputRow = dict[str, Any]
Action = Callable[[Services, argparse.Namespace], Awaitable[Sequence[OutputRow]]]


class Command:
    """A command with actions such as `create` and `list`, or with a single unnamed action."""

    def __init__(self, name: str, description: str, example: str) -> None:
        self._parser = argparse.ArgumentParser(
            prog=f"python -m scripts.{name}",
            description=description,
            epilog=f"example:\n  {example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self._parser.add_argument("--json", action="store_true", help="print a JSON array")
        self._actions: Any = None

    def only_action(self, run: Action) -> argparse.ArgumentParser:
        """Make `run` the only action; return the parser for its arguments."""
        self._parser.set_defaults(run=run)
        return self._parser

    def action(self, name: str, about: str, run: Action) -> argparse.ArgumentParser:
        """Add an action; return the parser for its arguments."""
        if self._actions is None:
            self._actions = self._parser.add_subparsers(
                title="actions", metavar="ACTION", required=True
            )
        parser: argparse.ArgumentParser = self._actions.add_parser(
            name, help=about, description=about
        )
        # Also accept the option after the action. A default would reset one before the action.
        parser.add_argument(
            "--json", action="store_true", default=argparse.SUPPRESS, help="print a JSON array"
        )
        parser.set_defaults(run=run)
        return parser

    def main(self, is_wrong: Callable[[OutputRow], bool] = lambda row: False) -> None:
        """Run the command and print its rows.

        Raises SystemExit with code 1 if a row is wrong or the action fails, 2 if the settings are
        wrong, 130 if it is interrupted.
        """
        parsed = self._parser.parse_args()
        if getattr(parsed, "first", "") > getattr(parsed, "last", "9999-12-31"):
            self._parser.error("--from: must not be after --to")
        try:
            rows = self._run(parsed)
        except SettingsError as error:
            self._parser.error(str(error))
        except (TrackerError, StoresError, StoreUnavailable, UnusableStore) as error:
            self._print_error(str(error))
            sys.exit(1)
        except KeyboardInterrupt:
            sys.exit(130)
        print(_as_json(rows) if parsed.json else _as_text(rows))
        if any(map(is_wrong, rows)):
            sys.exit(1)

    def _run(self, parsed: argparse.Namespace) -> Sequence[OutputRow]:
        settings = read(os.environ)
        settings = msgspec.structs.replace(settings, base_url=settings.public_url)
        logging.configure(settings)
        with attach_stores(settings, self._print_error) as stores:
            return asyncio.run(_run_action(stores, parsed))

    def _print_error(self, line: str) -> None:
        print(f"{self._parser.prog}: {line}", file=sys.stderr)


def uuid(text: str) -> UUID:
    """Parse an id. Raises ArgumentTypeError if it is none."""
    try:
        return parse_id("id", text)
    except TrackerError as error:
        raise argparse.ArgumentTypeError(error.message) from None


def day(text: str) -> str:
    """Parse a day. Raises ArgumentTypeError if it is none."""
    try:
        return day_of(start_of(text))
    except ValueError:
        raise argparse.ArgumentTypeError("must be a day such as 2026-01-31") from None


def add_days(parser: argparse.ArgumentParser, required: bool = False) -> None:
    """Add the options of a range of days, `first` to `last`. The default is all days."""
    for name, dest, about, default in (
        ("--from", "first", "first day, of the account's time zone", "0001-01-01"),
        ("--to", "last", "last day, of the account's time zone", "9999-12-31"),
    ):
        parser.add_argument(
            *(name,),
            dest=dest,
            type=day,
            required=required,
            default=None if required else default,
            metavar="DAY",
            help=about if required else f"{about} [all]",
        )


def currency(text: str) -> str:
    try:
        return checked_currency("currency", text)
    except BadRequest as error:
        raise argparse.ArgumentTypeError(error.message.partition(": ")[2]) from None


def display_name(text: str) -> str:
    """Return a name without spaces around it.

    Raises ArgumentTypeError if it is empty, too long, or has control characters.
    """
    name = text.strip()
    if not 1 <= len(name) <= _MAX_NAME_CHARACTERS or _UNUSABLE_CHARACTERS.search(name):
        raise argparse.ArgumentTypeError(
            f"1 to {_MAX_NAME_CHARACTERS} characters, no control characters"
        )
    return name


def positive(text: str) -> int:
    """Parse a positive whole number.

    Raises ArgumentTypeError if it is below 1, ValueError if it is not a whole number.
    """
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("1 or more")
    return number


def add_account(parser: argparse.ArgumentParser) -> None:
    """Add the required option `--account`."""
    parser.add_argument(
        "--account", type=uuid, required=True, metavar="ID", help="id of the account"
    )


async def require_account(services: Services, account: UUID) -> None:
    """Raises TrackerError unless the account exists."""
    if await services.accounts.accounts.find(account) is None:
        raise TrackerError(f"account {account}: not found")


async def _run_action(settings: Settings, parsed: argparse.Namespace) -> Sequence[OutputRow]:
    services = Services(settings)
    try:
        async with redis_diagnosed(), mongodb_diagnosed():
            rows: Sequence[OutputRow] = await parsed.run(services, parsed)
        return rows
    finally:
        await services.close()


def _as_json(rows: Sequence[OutputRow]) -> str:
    return orjson.dumps(rows, default=float, option=orjson.OPT_INDENT_2).decode()


def _as_text(rows: Sequence[OutputRow]) -> str:
    """Format one row as a line for each field, several rows as a table."""
    if len(rows) == 1:
        width = max(map(len, rows[0]))
        return "\n".join(f"{name:{width}}  {_cell(value)}" for name, value in rows[0].items())
    if not rows:
        return "none"
    lines = [list(rows[0]), *([_cell(value) for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _cell(value: Any) -> str:
    return "-" if value is None else str(value)
