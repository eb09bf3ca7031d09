"""What the commands share: parsing, the services they act on, output and exit codes.

Exit codes: 0 done, 1 not done (the reason is on standard error), 2 wrong usage.
"""

import argparse
import asyncio
import os
import re
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from uuid import UUID

import orjson

from config import logging
from config.settings import Settings, SettingsError, read
from tracker.builtin.stores import StoresError, attach_stores
from tracker.clock import day_of, start_of
from tracker.db.check import mongodb_diagnosed, redis_diagnosed
from tracker.db.connect import StoreUnavailable, UnusableStore
from tracker.errors import TrackerError
from tracker.ids import parse_id
from tracker.service.services import Services

_NAME_LENGTH = 255
# Control characters, and what the shell passed that is not text.
_UNUSABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")

Row = dict[str, Any]
Action = Callable[[Services, argparse.Namespace], Awaitable[Sequence[Row]]]


class Command:
    """A command with actions such as `create` and `list`, or with one thing that it always does;
    either answers rows."""

    def __init__(self, name: str, description: str, example: str) -> None:
        self._parser = argparse.ArgumentParser(
            prog=f"python -m scripts.{name}",
            description=description,
            epilog=f"example:\n  {example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self._parser.add_argument("--json", action="store_true", help="print a JSON array")
        self._actions: Any = None

    def always(self, run: Action) -> argparse.ArgumentParser:
        self._parser.set_defaults(run=run)
        return self._parser

    def action(self, name: str, about: str, run: Action) -> argparse.ArgumentParser:
        if self._actions is None:
            self._actions = self._parser.add_subparsers(
                title="actions", metavar="ACTION", required=True
            )
        parser: argparse.ArgumentParser = self._actions.add_parser(
            name, help=about, description=about
        )
        # Also after the action; without a default, or it would undo one before it.
        parser.add_argument(
            "--json", action="store_true", default=argparse.SUPPRESS, help="print a JSON array"
        )
        parser.set_defaults(run=run)
        return parser

    def main(
        self,
        arguments: Sequence[str] | None = None,
        is_wrong: Callable[[Row], bool] = lambda row: False,
    ) -> None:
        """Run and exit; with 1 if a row of the answer is wrong."""
        parsed = self._parser.parse_args(arguments)
        try:
            rows = self._run(parsed)
        except SettingsError as error:
            self._parser.error(str(error))
        except (TrackerError, StoresError, StoreUnavailable, UnusableStore) as error:
            self._say(str(error))
            sys.exit(1)
        except KeyboardInterrupt:
            sys.exit(130)
        print(_as_json(rows) if parsed.json else _as_text(rows))
        if any(map(is_wrong, rows)):
            sys.exit(1)

    def _run(self, parsed: argparse.Namespace) -> Sequence[Row]:
        settings = read(os.environ)
        logging.configure(settings)
        with attach_stores(settings, self._say) as stores:
            return asyncio.run(_act(stores, parsed))

    def _say(self, line: str) -> None:
        print(f"{self._parser.prog}: {line}", file=sys.stderr)


def uuid(text: str) -> UUID:
    """The type of arguments that are ids."""
    try:
        return parse_id("id", text)
    except TrackerError as error:
        raise argparse.ArgumentTypeError(error.message) from None


def day(text: str) -> str:
    """The type of arguments that are days."""
    try:
        return day_of(start_of(text))
    except ValueError:
        raise argparse.ArgumentTypeError("must be a day such as 2026-01-31") from None


def label(text: str) -> str:
    """The type of arguments that are names for people."""
    name = text.strip()
    if not 1 <= len(name) <= _NAME_LENGTH or _UNUSABLE.search(name):
        raise argparse.ArgumentTypeError(f"1 to {_NAME_LENGTH} characters, no control characters")
    return name


def positive(text: str) -> int:
    """The type of arguments that are whole numbers from 1 on."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("1 or more")
    return number


def add_account(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--account", type=uuid, required=True, metavar="ID", help="id of the account"
    )


async def require_account(services: Services, account: UUID) -> None:
    """Raises TrackerError if there is none."""
    if await services.accounts.find(account) is None:
        raise TrackerError(f"account {account}: not found")


async def _act(settings: Settings, parsed: argparse.Namespace) -> Sequence[Row]:
    services = Services(settings)
    try:
        async with redis_diagnosed(settings.redis_url), mongodb_diagnosed(settings.mongodb_uri):
            rows: Sequence[Row] = await parsed.run(services, parsed)
        return rows
    finally:
        await services.close()


def _as_json(rows: Sequence[Row]) -> str:
    return orjson.dumps(rows, default=float, option=orjson.OPT_INDENT_2).decode()


def _as_text(rows: Sequence[Row]) -> str:
    """One row: a line a field. More: a table."""
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
