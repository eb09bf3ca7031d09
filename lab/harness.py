"""The harness of every run: its options, log, folder, stores, loop, signals and exit codes.

However a run ends, its processes are ended and its folder is removed.
"""

import argparse
import asyncio
import os
import signal
import sys
import tempfile
import textwrap
import time
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Coroutine,
    Iterator,
    Sequence,
)
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import uvloop

from config import logging
from config.settings import Settings
from lab.loopback.run import loopback_only
from tracker.loops import cancel_and_wait
from tracker.stores.builtin.servers import LOAD_MEMORY
from tracker.stores.builtin.stores import StoresError, run_stores

T = TypeVar("T")

INTERRUPTED: Final = 130
"""The exit code of a run that was interrupted."""

_HELP_COLUMNS: Final = 80


class CannotMeasure(Exception):
    """A run that has no result, with one line that says why."""


def option_parser(name: str, description: str, epilog: str) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(
        prog=f"python -m lab.{name}",
        description=textwrap.fill(description, _HELP_COLUMNS),
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def add_rows(
    parser: argparse.ArgumentParser, rows: Sequence[T], names_of: Callable[[T], Collection[str]]
) -> None:
    """Add the option that chooses rows by their names, all by default."""

    def chosen(text: str) -> list[T]:
        named = {name.strip() for name in text.split(",")}
        known = dict.fromkeys(name for row in rows for name in names_of(row))
        if unknown := sorted(named - known.keys()):
            raise argparse.ArgumentTypeError(
                f"no such row: {unknown[0]!r}; there are {', '.join(known)}"
            )
        return [row for row in rows if not named.isdisjoint(names_of(row))]

    parser.add_argument("--rows", type=chosen, default=list(rows), help="rows, by commas [all]")


class Machine:
    """The machine as it is before a run."""

    def __init__(self) -> None:
        self._busy = os.getloadavg()[0]
        self._began = time.monotonic()

    def __str__(self) -> str:
        seconds = time.monotonic() - self._began
        return (
            f"{os.cpu_count()} cores with a load of {self._busy:.1f} before; "
            f"{seconds:.0f} s altogether"
        )


def on_own_stores(name: str, measure: Callable[[Path, Settings], Coroutine[Any, Any, T]]) -> T:
    """Return the result of `measure`, given a folder and settings that name running stores."""
    with (
        failures_reported(name),
        tempfile.TemporaryDirectory(prefix=f"{name}-") as folder,
        run_stores(Settings(data_dir=f"{folder}/stores"), memory=LOAD_MEMORY) as stores,
    ):
        return run_loop(lambda: measure(Path(folder), stores))


@contextmanager
def failures_reported(name: str) -> Iterator[None]:
    """Guard a run; print why it has no result, and exit. Its log goes to standard error."""
    # This handler serves while the stores start and stop; the loop between has its own.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    logging.configure(Settings(log_level="warning"))
    try:
        with loopback_only(name):
            yield
    except (CannotMeasure, StoresError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    except (KeyboardInterrupt, asyncio.CancelledError):
        print(f"{name}: interrupted; every process is ended", file=sys.stderr)
        raise SystemExit(INTERRUPTED) from None


def run_loop(measure: Callable[[], Coroutine[Any, Any, T]]) -> T:

    async def cancellable() -> T:
        running = asyncio.current_task()
        assert running is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.cancel)
        return await measure()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(cancellable())


@asynccontextmanager
async def beside(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    task = asyncio.get_running_loop().create_task(work)
    try:
        yield
    finally:
        await cancel_and_wait(task)


async def wait_until(
    is_true: Callable[[], Awaitable[bool]], seconds: float, look_seconds: float = 0.05
) -> bool:
    deadline = time.monotonic() + seconds
    while not await is_true():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(look_seconds)
    return True
