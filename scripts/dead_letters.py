"""List, replay and drop the entries that the drain could not store."""

import argparse
import re
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager

from redis.exceptions import RedisError

from scripts.command import Command, OutputRow
from scripts.progress import Progress
from tracker.clicks.click import Click
from tracker.clock import iso
from tracker.conversions.conversion import Conversion
from tracker.errors import TrackerError
from tracker.ingest.record import ENTRY_DECODER, Record
from tracker.journal.dead_letters import DeadLetter, DeadLetters
from tracker.service.services import Services

_ID = re.compile(r"[0-9]{1,20}-[0-9]{1,20}")
_EXAMPLES = (
    "python -m scripts.dead_letters list",
    "python -m scripts.dead_letters list --limit 100 --after 1767000000000-0 --json",
    "python -m scripts.dead_letters replay",
    "python -m scripts.dead_letters replay 1767000000000-0 1767000000123-0",
    "python -m scripts.dead_letters drop --all",
)


async def _list(services: Services, parsed: argparse.Namespace) -> list[OutputRow]:
    letters = DeadLetters(services.stores.redis_blocking, ENTRY_DECODER)
    with _redis_errors_reported():
        shown = await letters.read_after(parsed.after, parsed.limit)
        if shown and await letters.read_after(shown[-1].id, 1):
            print(
                f"{await letters.count():,} in total; next page: --after {shown[-1].id}",
                file=sys.stderr,
            )
    return [_row(letter) for letter in shown]


async def _replay(services: Services, parsed: argparse.Namespace) -> list[OutputRow]:
    letters = DeadLetters(services.stores.redis_blocking, ENTRY_DECODER)
    with _redis_errors_reported():
        replayed = (
            await _for_each(parsed.ids, letters.replay, "replayed")
            if parsed.ids
            else await _replay_all(letters)
        )
    return [{"replayed": replayed}]


async def _replay_all(letters: DeadLetters[Record]) -> int:
    replayed = 0
    with Progress("letters replayed", await letters.count()) as progress:
        async for moved in letters.replay_all():
            replayed += moved
            progress.advance(moved)
    return replayed


async def _drop(services: Services, parsed: argparse.Namespace) -> list[OutputRow]:
    letters = DeadLetters(services.stores.redis_blocking, ENTRY_DECODER)
    with _redis_errors_reported():
        dropped = (
            await letters.drop_all()
            if parsed.all
            else await _for_each(parsed.ids, letters.drop, "dropped")
        )
    return [{"dropped": dropped}]


async def _for_each(ids: Sequence[str], work: Callable[[str], Awaitable[bool]], done: str) -> int:
    """Call `work` for each letter; return the number of letters. Errors name the work as `done`.

    Raises TrackerError if letters are not found, after working on the others.
    """
    missing = [one for one in ids if not await work(one)]
    if missing:
        raise TrackerError(f"{len(ids) - len(missing)} {done}; not found: {', '.join(missing)}")
    return len(ids)


@contextmanager
def _redis_errors_reported() -> Iterator[None]:
    try:
        yield
    except RedisError as error:
        raise TrackerError(f"Redis: {error}") from None


def _row(letter: DeadLetter) -> OutputRow:
    """Return the columns of a letter, without anything that visitors have sent."""
    return {
        "id": letter.id,
        "buried_at": iso(letter.dead_since),
        "clicks": None if letter.kinds is None else letter.kinds[Click],
        "events": None if letter.kinds is None else letter.kinds[Conversion],
        "journal_id": letter.entry_id,
        "reason": letter.reason,
    }


def _letter_id(text: str) -> str:
    if not _ID.fullmatch(text):
        raise argparse.ArgumentTypeError("must be the id of a letter, such as 1767000000000-0")
    return text


def _limit(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,6}", text) or not int(text):
        raise argparse.ArgumentTypeError("must be a number from 1 to 999999")
    return int(text)


def main() -> None:
    command = Command(
        "dead_letters",
        "List, replay and drop entries of the journal that could not be stored, or single clicks "
        "and events of an entry. Each stays, with the reason, until it is replayed or dropped.",
        "\n  ".join(_EXAMPLES),
    )
    show = command.action("list", "list letters, oldest first", _list)
    show.add_argument(
        "--limit", type=_limit, default=1000, metavar="N", help="letters at most [1000]"
    )
    show.add_argument(
        "--after", type=_letter_id, metavar="ID", help="list only letters after this one"
    )
    replay = command.action(
        "replay", "move letters back to the journal, once the cause is fixed", _replay
    )
    replay.add_argument(
        "ids", type=_letter_id, nargs="*", metavar="ID", help="letters to replay [all]"
    )
    drop = command.action("drop", "delete letters for good: their contents are lost", _drop)
    which = drop.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "ids", type=_letter_id, nargs="*", default=[], metavar="ID", help="letters to drop"
    )
    which.add_argument("--all", action="store_true", help="drop every letter")
    command.main()


if __name__ == "__main__":
    main()
