"""`python -m lab.soak`: the options, the table and the exit code."""

import argparse
import asyncio
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import uvloop

from config.settings import Settings
from lab.load.stores import NotDrained
from lab.processes import NotReady
from lab.soak.result import Result
from lab.soak.run import Options, Soak
from scripts.command import positive
from tracker.builtin.stores import StoresError, run_stores


async def _run(options: Options, folder: Path, stores: Settings) -> Result:
    running = asyncio.current_task()
    assert running is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.cancel)
    return await Soak(options, folder, stores).run()


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 if nothing was wrong, 1 if something was, or if it could not be tried."""
    parsed = _parser().parse_args(arguments)
    # While the stores start and end; the loop between has a handler of its own.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options = Options(parsed.seconds, parsed.rate, parsed.connections)
    try:
        with (
            tempfile.TemporaryDirectory(prefix="soak-") as folder,
            run_stores(Settings(data_dir=f"{folder}/stores")) as stores,
            asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        ):
            result = runner.run(_run(options, Path(folder), stores))
    except (NotReady, NotDrained, StoresError) as error:
        print(f"soak: {error}", file=sys.stderr)
        return 1
    except (KeyboardInterrupt, asyncio.CancelledError):
        print("soak: interrupted; every process is ended", file=sys.stderr)
        return 130
    print(result.table())
    return 1 if result.faults() else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m lab.soak",
        description="Clicks and events at a steady rate: every 30 s the resident size of each "
        "process, requests, errors and backlog. Exit code 1 after any error, if anything was lost, "
        "or if the web process grew by more than 20 MB after its first 100,000 clicks.",
        epilog="example:\n  make soak ARGS='--seconds 120 --rate 2000'",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seconds", type=positive, default=600, help="how long [600]")
    parser.add_argument(
        "--rate", type=positive, help="requests a second [half of what it answers in 5 seconds]"
    )
    parser.add_argument("--connections", type=positive, default=64, help="at once [64]")
    return parser


if __name__ == "__main__":
    sys.exit(main())
