"""The harness of every run: a folder, stores of its own, a loop, signals and exit codes.

However a run ends, its processes are ended and its folder is removed.
"""

import asyncio
import signal
import sys
import tempfile
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import uvloop

from config.settings import Settings
from tracker.builtin.stores import StoresError, run_stores

T = TypeVar("T")

INTERRUPTED: Final = 130


class CannotMeasure(Exception):
    """A run that has no result, with one line that says why."""


def on_own_stores(name: str, measure: Callable[[Path, Settings], Coroutine[Any, Any, T]]) -> T:
    """Return the result of `measure`, given a folder and settings that name running stores.

    Raises SystemExit with code 1 if it cannot measure, with INTERRUPTED after a signal.
    """
    with (
        failures_reported(name),
        tempfile.TemporaryDirectory(prefix=f"{name}-") as folder,
        run_stores(Settings(data_dir=f"{folder}/stores")) as stores,
    ):
        return run_loop(lambda: measure(Path(folder), stores))


@contextmanager
def failures_reported(name: str) -> Iterator[None]:
    """Print why a run has no result, and exit.

    Raises SystemExit with code 1 if it cannot measure, with INTERRUPTED after a signal.
    """
    # While the stores start and end; the loop between has a handler of its own.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except (CannotMeasure, StoresError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    except (KeyboardInterrupt, asyncio.CancelledError):
        print(f"{name}: interrupted; every process is ended", file=sys.stderr)
        raise SystemExit(INTERRUPTED) from None


def run_loop(measure: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Return the result of `measure`, which SIGINT and SIGTERM cancel."""

    async def cancellable() -> T:
        running = asyncio.current_task()
        assert running is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.cancel)
        return await measure()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(cancellable())
